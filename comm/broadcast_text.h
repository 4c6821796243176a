// A text, or other bytes, of one rank on all of them: what ranks take over as one of them says it.
// Blocks; two broadcasts.

#ifndef DTNN_COMM_BROADCAST_TEXT_H_
#define DTNN_COMM_BROADCAST_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "comm/communicator.h"

namespace dtnn {

// `text` of rank `root`; those of the others do not count. All ranks call it together.
// InvalidArgument for more than 1 GiB; other errors are the communicator's.
absl::StatusOr<std::string> BroadcastText(Communicator& communicator, std::string_view text,
                                          int root);

}  // namespace dtnn

#endif  // DTNN_COMM_BROADCAST_TEXT_H_
