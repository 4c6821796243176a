// What the two sides of one sum tell each other besides updates, for each kind of protection: notes
// before the clients train, on which masks and joint keys are agreed, and one when all updates are
// there. Nothing here knows connections.
//
//   client                      aggregator
//   reply 0                 ->                      of every participant
//                           <-  note 0              what the others have said
//   reply 1                 ->
//                           <-  note 1
//   update                  ->
//                           <-  last note           whose updates are there
//   reply to it             ->                      what removes the masks
//
// Where masks are shared with neighbours only, the replies to that note are votes; one more note
// gives them to all.
//
// Without encryption, and with a key that clients share, there are no notes.

#ifndef DTNN_COMM_FEDERATION_PROTOCOL_H_
#define DTNN_COMM_FEDERATION_PROTOCOL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/compression.h"
#include "comm/federation/frame.h"
#include "comm/federation/messages.h"
#include "comm/federation/protection.h"
#include "comm/secrets/crypto/hash.h"
#include "comm/secrets/crypto/wiped.h"
#include "comm/secrets/sums/codec.h"
#include "tensor/philox.h"

namespace dtnn::federation {

// One sum: positions 0 .. participants - 1, of clients that were asked.
struct SumFacts {
  uint64_t attempt = 0;
  RunNonce nonce{};
  int participants = 0;
  size_t chunks = 0;
  // The hash of what all clients have received alike, for clients: those that have received
  // different messages make no sum together.
  Hash facts{};
  // How plain updates are compressed, of so many trainable numbers, and by which random numbers a
  // client does it.
  Compression compression = {};
  size_t trainable = 0;
  Philox rounding{0, 0};
};

// What a client wants of the updates that its own is added to, whatever the aggregator says.
struct Company {
  std::vector<double> factors = {};  // ClientFactors of all positions
  int quorum = 1;                    // so many at least, as the aggregator has said
  double least_clients = 0;          // CheckHidden

  // FailedPrecondition where the updates at these positions are not enough.
  absl::Status Check(const std::set<int>& positions) const;
};

using SharedBytes = std::shared_ptr<const Bytes>;

class ServerProtocol {
 public:
  virtual ~ServerProtocol() = default;

  // Notes before clients train: numbers 0 ..
  virtual int setup_notes() const { return 0; }
  // Notes after the updates, where there are any: AskSurvivors, and what Note(setup_notes() + 1)
  // says when the replies to it are there.
  virtual int closing_notes() const { return 1; }
  // Whether a client that is lost takes the sum with it.
  virtual bool needs_all() const { return false; }
  // So many clients may be lost after the notes, and the sum still be read.
  virtual int spare() const { return 0; }
  // To that note; an error changes nothing.
  virtual absl::Status TakeReply(int note, int position, std::span<const uint8_t> reply) {
    return InvalidArgument("client ", position, " replies to note ", note, ", which nobody sent ",
                           reply.size(), " bytes about");
  }
  // By position, of those that have replied, when no more replies are awaited.
  virtual absl::StatusOr<std::map<int, SharedBytes>> Note(int note) {
    return FailedPrecondition("there is no note ", note);
  }
  // The note after the updates, number setup_notes(); nothing where none is needed.
  virtual absl::StatusOr<SharedBytes> AskSurvivors(const std::set<int>& /*survivors*/) {
    return SharedBytes();
  }
  // When the replies to the last note are there: sums can be read then. DataLoss where replies are
  // wrong, and it is not known whose; Cancelled, soon, where it is to stop, as is then what reads
  // sums.
  virtual absl::Status FinishReplies(const std::stop_token& /*stop*/) { return absl::OkStatus(); }
  // After it: pairs of positions of which one, at least, has lied about what is between the two.
  // Both may be the same one.
  virtual std::vector<std::pair<int, int>> disputes() const { return {}; }

  virtual absl::StatusOr<std::unique_ptr<codec::ServerCodec>> MakeCodec() = 0;
};

class ClientProtocol {
 public:
  virtual ~ClientProtocol() = default;

  virtual int setup_notes() const { return 0; }
  // Reply 0, which is made before there is a note.
  virtual absl::StatusOr<Bytes> FirstReply() { return Bytes(); }
  // What to answer; nothing to the last note before the client trains.
  virtual absl::StatusOr<std::optional<Bytes>> TakeNote(int note, std::span<const uint8_t> body) {
    return FailedPrecondition("note ", note, " of ", body.size(), " bytes, which nobody awaits");
  }
  // After a TakeNote that failed: whose message was at fault, where it was one of another client.
  virtual std::optional<int> culprit() const { return std::nullopt; }
  // When the notes before training have come.
  virtual absl::StatusOr<std::unique_ptr<codec::ClientCodec>> MakeCodec() = 0;
};

// Noise of one client in a sum of so many clients must not be smaller than this: else it is lost
// where numbers that are trained from `begin`, times `factor`, are rounded to float32 and to what
// masked sums hold. 0 where no sum hides an update: there its noise is added before it is rounded.
double LeastNoise(const Protector& protector, int participants, double factor,
                  std::span<const float> begin);

absl::StatusOr<std::unique_ptr<ServerProtocol>> MakeServerProtocol(const Protector& protector,
                                                                   const SumFacts& sum);

// `key`: that clients share, and the aggregator does not have. Protection::kSharedKey needs one;
// with masks and threshold keys it is what an aggregator cannot play the other clients without. The
// protector outlives it.
absl::StatusOr<std::unique_ptr<ClientProtocol>> MakeClientProtocol(const Protector& protector,
                                                                   const SumFacts& sum,
                                                                   int position,
                                                                   const std::optional<Secret>& key,
                                                                   const Company& company = {});

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_PROTOCOL_H_
