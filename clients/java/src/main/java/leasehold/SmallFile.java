package leasehold;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** Reads the file of a token, of a key or of certificates. */
final class SmallFile {
    private SmallFile() {}

    /** The content of a regular file of at most so many KiB: a pipe or a device might never end. */
    static byte[] read(Path file, int mostKib) throws IOException {
        if (Files.exists(file) && !Files.isRegularFile(file)) throw new IOException("it is not a regular file: " + file);
        try (InputStream in = Files.newInputStream(file)) {
            byte[] content = in.readNBytes((mostKib << 10) + 1);
            if (content.length > mostKib << 10) throw new IOException("it is larger than " + mostKib + " KiB: " + file);
            return content;
        }
    }
}
