"""
The dictionaries of ``zstd`` that payloads are compressed with before they are sealed.

Ciphertext does not compress, and a payload alone is too short to. A dictionary holds
fragments of what it was trained on, in the clear: these hold made-up sentences and names
of fields, see ``benchmarks/dictionary.py``. A file here is never changed; it is part of
what every payload that names it means.
"""
