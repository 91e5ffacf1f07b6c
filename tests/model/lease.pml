/* The lease protocol on one key: a store, its clock, holders that may pause anywhere, and a resource
 * that they write to. Time passes in steps. Spin looks at every interleaving; `verify` says what is
 * expected of which variant.
 *
 *   NO_FENCE       the resource does not compare fences
 *   BLIND_RENEW    renew does not ask whether the lease is alive
 *   NO_MARK        the store judges by its clock as it stands, not by the highest time it ever used
 *   NO_LEAP_CHECK  a take-over does not ask whether the store's clock has leapt ahead
 *   LATE_COUNT     a holder counts its time from the answer instead of from before it asked
 */
#define HOLDERS 2
#define TTL     2
#define END     5   /* time stands still here, so that the search ends */
#define STEPS   1   /* how often the store's clock is set */
#define NOBODY  0

byte real = 1;          /* the time that passes for everybody, and on every steady clock */
byte ahead = 0;         /* how far the store's clock is set ahead of it ... */
byte behind = 0;        /* ... and back */
byte steps = 0;

/* The store's row. A lock id is its fence here: both are drawn once, at the grant. */
byte row_id = NOBODY;
byte row_expires = 0;
bool row_ended = true;
byte row_leapt = 0;     /* how far the clock stood ahead when the row was written */
byte last_fence = 0;
byte mark = 0;          /* the highest time ever used */

/* What is watched. */
#define GRANTS 4
bool dead[GRANTS];                  /* somebody was told that this lease is over */
byte believes_until[HOLDERS + 1];   /* by the holder's own steady clock */
byte written = 0;                   /* the newest fence the resource has seen */

#define clock (real + ahead - (behind < real + ahead -> behind : real + ahead))

#ifdef NO_MARK
#define judge(t) t = clock
#else
#define judge(t) t = (clock > mark -> clock : mark); mark = t
#endif

#ifdef NO_LEAP_CHECK
#define truly_over(t) (t >= row_expires)
#else
/* Without what the clock leapt over since the row was written, it would be over as well. */
#define truly_over(t) (t >= row_expires + (ahead - row_leapt))
#endif

#define alive(id, t) (row_id == id && !row_ended && t < row_expires)

inline note_death(t) {
    if
    :: row_id != NOBODY && !row_ended && t >= row_expires -> dead[row_id] = true
    :: else
    fi
}

inline prolong(t) {
    row_expires = t + TTL;
    row_leapt = ahead
}

proctype holder(byte me) {
    byte id, asked, t;
    bool mine;
again:
    id = NOBODY;
    asked = real;
    /* The question is on its way. */
    atomic {
        judge(t);
        if
        :: last_fence < GRANTS - 1 && (row_ended || truly_over(t)) ->
            note_death(t);
            if
            :: row_id != NOBODY -> dead[row_id] = true
            :: else
            fi;
            last_fence++;
            id = last_fence;
            row_id = id;
            row_ended = false;
            prolong(t);
            /* Nobody else believes to hold it. */
            assert(believes_until[HOLDERS + 1 - me] <= real)
        :: else
        fi;
        t = 0
    }
    /* The answer is on its way. */
    if
    :: id == NOBODY -> goto done
    :: else
    fi;
    atomic {
#ifdef LATE_COUNT
        believes_until[me] = real + TTL;
#else
        believes_until[me] = asked + TTL;
#endif
        asked = 0
    }
    do
    :: real < believes_until[me] ->
        /* It looked at its clock; it may pause here for as long as it likes. */
        atomic {
#ifndef NO_FENCE
            if
            :: id >= written ->
#endif
                /* No write of a later holder is overwritten by an earlier one. */
                assert(id >= written);
                written = id
#ifndef NO_FENCE
            :: else
            fi
#endif
        }
    :: asked = real;
        atomic {
            judge(t);
#ifdef BLIND_RENEW
            mine = (row_id == id && !row_ended);
#else
            note_death(t);
            mine = alive(id, t);
#endif
            if
            :: mine ->
                /* What was called dead never lives again. */
                assert(!dead[id]);
                prolong(t)
            :: else -> dead[id] = true
            fi;
            t = 0
        }
        atomic {
            if
            :: mine ->
#ifdef LATE_COUNT
                believes_until[me] = real + TTL
#else
                believes_until[me] = asked + TTL
#endif
            :: else -> believes_until[me] = 0; goto done
            fi;
            mine = false;
            asked = 0
        }
    :: believes_until[me] = 0;
        atomic {
            judge(t);
            note_death(t);
            if
            :: alive(id, t) -> row_ended = true
            :: else
            fi;
            dead[id] = true;
            t = 0
        }
        goto done
    od;
done:
    atomic {
        asked = 0;
        mine = false
    }
    if
    :: last_fence < GRANTS - 1 && real < END -> goto again
    :: skip
    fi
}

/* Somebody who looks whether the lease is alive, and is believed. */
proctype observer() {
    byte t, id;
    do
    :: atomic {
            judge(t);
            id = row_id;
            if
            :: id != NOBODY && alive(id, t) -> assert(!dead[id])
            :: id != NOBODY && !row_ended && t >= row_expires -> dead[id] = true
            :: else
            fi;
            t = 0;
            id = 0
        }
    :: real >= END -> break
    od
}

proctype time() {
    do
    :: real < END -> real++
    :: steps < STEPS -> atomic { steps++; ahead = ahead + 3 }
    :: steps < STEPS -> atomic { steps++; behind = behind + 2 }
    :: real >= END -> break
    od
}

init {
    atomic {
        run holder(1);
        run holder(2);
        run observer();
        run time()
    }
}
