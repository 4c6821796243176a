// Errors of a job of several ranks, reported to the user by one of them.

#ifndef DTNN_COMM_RANKS_JOB_TELL_ONCE_H_
#define DTNN_COMM_RANKS_JOB_TELL_ONCE_H_

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "comm/communicator.h"
#include "comm/launch_place.h"
#include "comm/ranks/job/exit_code.h"

namespace dtnn {

// The error with the rank that it is of; without a text where another rank tells the user.
// `exit_code_of_loss`: where ranks were lost.
absl::Status ErrorOfRank(const Communicator& communicator, const absl::Status& status,
                         int exit_code_of_loss = kExitFailed);

// Called by a process of `program` whose command line is `wrong`. Of several that a launcher
// started, which may have command lines of their own, the lowest that is wrong tells the user, for
// all; it returns its error, the others one without a message. Those that are not wrong take part
// by Agree(&communicator, absl::OkStatus()), before anything else, and ErrorOfRank.
absl::Status TellOnce(const absl::Status& wrong, const LaunchPlace& place,
                      const std::string& program, std::ostream& out, std::ostream& err);

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_JOB_TELL_ONCE_H_
