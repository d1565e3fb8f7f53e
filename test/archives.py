"""Archives of tests' files."""
import tarfile


def unpack(archive, folder):
    with tarfile.open(archive) as tar:
        # Python before 3.11.4, such as Debian 12's, filters nothing.
        tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
        tar.extractall(folder)
