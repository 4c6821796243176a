// The round that a client takes part in: what it gets for it, and what it answers. Without
// connections and clocks.

#ifndef DTNN_COMM_FEDERATION_CLIENT_CLIENT_ROUND_H_
#define DTNN_COMM_FEDERATION_CLIENT_CLIENT_ROUND_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/client/client_options.h"
#include "comm/federation/client/round_task.h"
#include "comm/federation/frame.h"
#include "comm/federation/messages.h"
#include "comm/federation/protection.h"
#include "comm/federation/protocol.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/secrets/sums/authenticated.h"

namespace dtnn::federation {

class ClientRound {
 public:
  enum class State : uint8_t {
    kSetUp,     // parameters come, then what the clients must know of each other
    kReady,     // the client may train, or is at it
    kAnswered,  // it has nothing more to send but answers to questions about the sum
  };
  // All outlive the round.
  struct Context {
    const ClientOptions& options;
    const Protector& protector;
    const JobSecret& secret;
    RunNonce nonce{};  // of the aggregator's process
    // A frame of this round to the aggregator.
    std::function<void(FrameKind kind, uint64_t attempt, uint32_t index, Bytes body)> send;
  };

  // From a kRound.
  static absl::StatusOr<ClientRound> Begin(const Frame& frame, Context context);

  // The longest body that a frame may have now; nothing where none of its kind may come.
  std::optional<size_t> Allowed(const FrameHeader& header) const;
  // One that is allowed, or a verdict. Where the client can take no part it declines.
  absl::Status Take(Frame frame);

  State state() const { return state_; }
  // Whether the aggregator uses the client's update; nothing: it has not said so yet.
  std::optional<bool> accepted() const { return accepted_; }
  bool over() const { return start_.over; }
  uint64_t attempt() const { return attempt_; }
  // Updates that are read together; fewer are not read at all.
  int together() const;

  // Once it is ready:
  absl::StatusOr<RoundTask> Task();
  double factor() const { return factor_; }  // of this client's parameters
  // Where this client is an aggregator: makes its report say no more than the other end knew before
  // the round, and returns what its factor is multiplied by.
  double ShareOf(Report& report) const;
  double clip() const { return start_.clip; }  // of its update, where the clip adapts
  bool sends_difference() const { return start_.difference; }
  const Compression& compression() const { return start_.compression; }
  // Numbers of an update: its parameters, and what its control variate has changed by.
  size_t values() const {
    const ModelFacts& model = context_.options.model;
    return size_t(model.values + (start_.control ? model.trainable : 0));
  }
  // The message for numbers that are multiplied by it.
  absl::StatusOr<Bytes> Encode(uint32_t chunk, std::span<const float> values);
  // Nothing more comes; the first one counts.
  void Finish(const Report& report);
  void Decline(std::string_view why, uint32_t reason);
  // The client cannot continue the round, which it declines; OK where `why` is. `reason`:
  // frame.h.
  absl::Status Forgo(const absl::Status& why, uint32_t reason);

 private:
  ClientRound(uint64_t attempt, RoundStart start, Context context)
      : context_(std::move(context)), attempt_(attempt), start_(std::move(start)) {}

  size_t ParameterChunks() const;
  void Send(FrameKind kind, uint32_t index, Bytes body) const {
    context_.send(kind, attempt_, index, std::move(body));
  }
  // All parameters are there.
  absl::Status SetUp();
  // The requirements of this client.
  absl::StatusOr<Company> FindCompany() const;
  absl::Status TakeNote(const Frame& frame);
  // FailedPrecondition where the clip of the round makes noise that rounding would take away.
  absl::Status CheckNoise() const;
  // No note is awaited any more.
  absl::Status GetReady();
  absl::Status TakeVerdict(const Frame& frame);
  absl::StatusOr<std::vector<float>> DecodeParameters() const;

  Context context_;
  uint64_t attempt_ = 0;
  RoundStart start_;
  State state_ = State::kSetUp;
  double factor_ = 1;
  std::vector<Bytes> parameters_;  // chunks, as they came
  size_t chunks_ = 0;              // that have come
  std::unique_ptr<ClientProtocol> protocol_;
  int notes_ = 0;         // that have come
  uint32_t replies_ = 0;  // that were sent
  std::unique_ptr<codec::UpdateClient> codec_;
  uint32_t answers_ = 0;
  std::optional<bool> accepted_;
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_CLIENT_CLIENT_ROUND_H_
