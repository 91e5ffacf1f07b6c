#include "commands/transactional_command.hpp"

namespace customers {

web::Response TransactionalCommand::process(Visit& visit) {
    try {
        web::Response response = command_->process(visit);
        if (response.status < 400) {
            visit.work.commit();
        } else {
            visit.work.roll_back();
        }
        return response;
    } catch (...) {
        visit.work.roll_back();
        throw;
    }
}

}  // namespace customers
