import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.recall.lexicon import TermLexicon
from muniment.recall.stemming import stem
from muniment.recall.tokens import asked, normal, terms


@pytest.mark.parametrize(
    ("keyword", "text"),
    [
        ("朝阳", "住在北京市朝阳区"),
        ("精排", "rerank 精排 模型上线"),
        ("rerank 精排", "昨天做了 rerank 精排 的实验"),
        ("Rust", "用户转到Rust工程师"),
        ("東京", "東京タワーに行きました"),
        ("食べ", "寿司を食べた"),
        ("タワー", "東京タワーに行きました"),
        ("서울", "서울에서 커피를 마셨다"),
        ("커피", "서울에서 커피를 마셨다"),
        ("ข้าว", "ฉันชอบกินข้าวผัด"),
        ("مدرسة", "ذهبت إلى المدرسة الكبيرة"),
        ("كتاب", "قرأت الكِتَاب أمس"),
        ("हिन्दी", "मैं हिन्दी बोलता हूँ"),
        ("молоко", "Она любит молоко"),
        ("café", "met at the CAFE\u0301 downtown"),
        ("cafe", "met at the café downtown"),
        ("ABC123", "订单号ＡＢＣ１２３"),
        ("INV-2024-001", "invoice inv-2024-001 was paid"),
        ("2024", "invoice INV-2024-001 was paid"),
        ("C++", "writes C++ at work"),
        ("paintings", "she painted a sunrise"),
        ("😀", "so happy 😀!"),
    ],
)
def test_a_keyword_shares_all_its_terms_with_the_text_it_stands_in(
    keyword: str, text: str
) -> None:
    assert set(terms(keyword)) <= set(terms(text))


@pytest.mark.parametrize(
    ("keyword", "text"),
    [
        ("朝阳", "住在海淀区"),
        ("rust", "they trust each other"),
        ("精排", "粗排模型"),
        ("서울", "부산에서 커피를 마셨다"),
    ],
)
def test_a_keyword_that_is_not_there_shares_not_all_its_terms(
    keyword: str, text: str
) -> None:
    assert not set(terms(keyword)) <= set(terms(text))


@given(st.text())
def test_composed_and_decomposed_text_has_the_same_terms(text: str) -> None:
    composed = terms(unicodedata.normalize("NFC", text))
    decomposed = terms(unicodedata.normalize("NFD", text))

    assert composed == decomposed


@given(st.text(min_size=1).filter(lambda text: normal(text) != ""))
def test_text_that_is_not_blank_has_terms_to_ask_for(text: str) -> None:
    assert asked(text)


@given(st.text())
def test_what_is_asked_for_is_among_the_terms(text: str) -> None:
    assert set(asked(text)) <= set(terms(text))


def test_a_question_is_cut_to_what_it_tells() -> None:
    assert asked("When did Caroline go to the support group?") == [
        "carolin",
        "go",
        "support",
        "group",
    ]


def test_a_question_of_telling_nothing_keeps_its_words() -> None:
    assert asked("who are they") == terms("who are they")


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("agreed", "agre"),
        ("hopping", "hop"),
        ("hoping", "hope"),
        ("relational", "relat"),
        ("generalization", "gener"),
        ("adoption", "adopt"),
        ("controlled", "control"),
        ("happiness", "happi"),
        ("sky", "sky"),
        ("as", "as"),
        ("prix2", "prix2"),
        ("naïve", "naïve"),
    ],
)
def test_english_words_are_cut_to_their_stems(word: str, expected: str) -> None:
    assert stem(word) == expected


@given(st.text())
def test_a_sparse_vector_names_each_term_once_with_a_weight_above_zero(text: str) -> None:
    vector = TermLexicon().passage(text)

    assert len(set(vector.indices)) == len(vector.indices) == len(vector.weights)
    assert all(0 <= index < 2**32 for index in vector.indices)
    assert all(weight > 0 for weight in vector.weights)
