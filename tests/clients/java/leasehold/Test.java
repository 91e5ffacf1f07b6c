package leasehold;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** A method that {@link Tests} runs. Its name is a sentence. */
@Retention(RetentionPolicy.RUNTIME)
@interface Test {}
