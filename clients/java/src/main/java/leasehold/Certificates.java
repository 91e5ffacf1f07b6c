package leasehold;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** TLS with the certificates of PEM files. */
final class Certificates {
    private static final char[] NO_PASSWORD = {};
    private static final int MOST_KIB = 4 << 10; // of a file

    private Certificates() {}

    /** Each path may be null. Throws BadRequestException. */
    static SSLContext context(Path caFile, Path certificate, Path key) {
        try {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(
                    certificate == null ? null : ours(certificate, key).getKeyManagers(),
                    caFile == null ? null : trusted(caFile).getTrustManagers(),
                    null);
            return context;
        } catch (GeneralSecurityException | IOException | IllegalArgumentException error) {
            throw new BadRequestException("a certificate or its key cannot be read: " + error, error);
        }
    }

    private static TrustManagerFactory trusted(Path file) throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, NO_PASSWORD);
        for (Certificate one : read(file)) store.setCertificateEntry("ca-" + store.size(), one);
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        return factory;
    }

    private static KeyManagerFactory ours(Path certificate, Path key) throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, NO_PASSWORD);
        Certificate[] chain = read(certificate).toArray(new Certificate[0]);
        store.setKeyEntry("ours", privateKey(key), NO_PASSWORD, chain);
        KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(store, NO_PASSWORD);
        return factory;
    }

    private static Collection<? extends Certificate> read(Path file) throws GeneralSecurityException, IOException {
        byte[] text = SmallFile.read(file, MOST_KIB);
        Collection<? extends Certificate> all =
                CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(text));
        if (all.isEmpty()) throw new IOException("no certificate is in " + file);
        return all;
    }

    private static PrivateKey privateKey(Path file) throws GeneralSecurityException, IOException {
        String text = new String(SmallFile.read(file, MOST_KIB), StandardCharsets.US_ASCII);
        String begin = "-----BEGIN PRIVATE KEY-----";
        int from = text.indexOf(begin);
        int to = text.indexOf("-----END PRIVATE KEY-----");
        if (from < 0 || to < from) throw new IOException("no \"PRIVATE KEY\" (PKCS #8) is in " + file);
        byte[] key = Base64.getMimeDecoder().decode(text.substring(from + begin.length(), to));
        GeneralSecurityException last = null;
        for (String algorithm : List.of("EC", "RSA", "EdDSA")) {
            try {
                return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(key));
            } catch (GeneralSecurityException other) {
                last = other;
            }
        }
        throw last;
    }
}
