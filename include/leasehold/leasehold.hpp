#pragma once

// Everything but the stores' own headers.
#include <leasehold/coarse_grained.hpp>
#include <leasehold/dist_lock.hpp>
#include <leasehold/errors.hpp>
#include <leasehold/hold.hpp>
#include <leasehold/keep_alive.hpp>
#include <leasehold/language.hpp>
#include <leasehold/leader.hpp>
#include <leasehold/lease.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/lock_id.hpp>
#include <leasehold/lock_key.hpp>
#include <leasehold/lock_manager.hpp>
#include <leasehold/lock_type.hpp>
#include <leasehold/open_store.hpp>
#include <leasehold/protection.hpp>
#include <leasehold/queries.hpp>
#include <leasehold/refusal_texts.hpp>
#include <leasehold/request.hpp>
#include <leasehold/scoped_lock.hpp>
#include <leasehold/session.hpp>
#include <leasehold/store.hpp>
#include <leasehold/store_status.hpp>
#include <leasehold/time.hpp>
