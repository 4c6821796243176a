// What ranks tell each other beside their tensors: who is where, who gave up, who leaves.
//
// A channel of small messages over a communicator of its own. Sending never blocks; a message to a
// rank that is frozen waits in MPI until it goes on, one to a dead rank is lost.

#ifndef DTNN_COMM_MPI_CONTROL_H_
#define DTNN_COMM_MPI_CONTROL_H_

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "comm/mpi/call_guard.h"
#include "comm/mpi/mpi_api.h"

namespace dtnn {

struct ControlMessage {
  enum class Kind : int32_t {
    kQuery,   // where are you?
    kAnswer,  // to a query
    kAbort,   // the group is broken: `status`, `lost`
    kLeave,   // the sender's communicator is no more; `status`, `lost` where it was broken before
  };
  Kind kind = Kind::kQuery;
  int32_t group = 0;  // the number of the group, counted alike by all ranks
  // How far the sender is: collectives it has called, messages to and from the addressee.
  int64_t calls = 0, sent = 0, received = 0;
  absl::Status status;
  std::vector<int> lost;
};

// Of a message between so many ranks: the lost ones take a bit each.
size_t MaxControlBytes(int ranks);

// At most MaxControlBytes, if all lost ranks are below `ranks`; a long text is cut off.
std::string Encode(const ControlMessage& message);
// Nothing for what cannot be a message between so many ranks. `lost` comes sorted.
std::optional<ControlMessage> Decode(std::string_view bytes, int ranks);

class ControlChannel {
 public:
  // Nobody else uses `comm`. The guard outlives it.
  ControlChannel(MPI_Comm comm, CallGuard& guard);

  void Send(int to, const ControlMessage& message);
  // Hands over what has arrived; false: nothing.
  bool Poll(absl::FunctionRef<void(int from, const ControlMessage&)> handle);
  // Nothing sent is on its way any more, as far as this side knows.
  bool idle() const { return outgoing_.empty(); }
  // Before MPI is finalised.
  void Close();

 private:
  struct Outgoing {
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void Listen();

  MPI_Comm comm_;
  CallGuard& guard_;
  MPI_Request incoming_ = MPI_REQUEST_NULL;
  int ranks_ = 0;
  std::string buffer_;
  std::list<Outgoing> outgoing_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_MPI_CONTROL_H_
