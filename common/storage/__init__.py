"""Files that every web server and worker reads: on one disk, or in an S3-compatible object store (STORAGE_URL).

Code that makes or reads files works with paths below FILES_ROOT and MODELS_ROOT in both cases. With an object store
these folders belong to one host: `publish` sends what was made there to the store, `fetch` brings it to another host.
On one disk both do nothing.
"""
