#pragma once

#include <boost/asio/io_context.hpp>

#include <functional>
#include <string>
#include <vector>

#include <leasehold/lock_manager.hpp>

namespace leasehold::docs {

// Runs the C++ code of docs/waiting.md, which the build copies from there.
void use_as_in_waiting_page(LockManager& locks, const std::vector<std::string>& items,
                            const std::function<void(const std::string&)>& show,
                            const std::function<void(const LockKey&)>& work_on,
                            const std::function<void(const std::string&, Fence)>& write,
                            const std::function<void(Fence)>& send_next_bill,
                            boost::asio::io_context& context);

}  // namespace leasehold::docs
