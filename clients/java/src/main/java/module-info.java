/** The client of the Leasehold server. */
module leasehold {
    requires transitive java.net.http;

    exports leasehold;
    exports leasehold.pattern;
}
