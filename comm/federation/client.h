// A client of a federation: gets parameters, and gives back what it has trained of them on data
// that stay with it. It calls the aggregator, never the other way round, and calls again where the
// connection breaks.
//
//   DTNN_ASSIGN_OR_RETURN(auto client, FederationClient::Create(options, secret));
//   for (;;) {
//     DTNN_ASSIGN_OR_RETURN(const RoundTask task, client->Next());
//     if (task.over) break;             // with the final parameters
//     ... train from task.parameters ...
//     DTNN_RETURN_IF_ERROR(client->Submit(parameters, report));
//   }
//
// Used by one thread; nothing is read while the client trains.

#ifndef DTNN_COMM_FEDERATION_CLIENT_H_
#define DTNN_COMM_FEDERATION_CLIENT_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/codec/authenticated.h"
#include "comm/crypto/chacha20_stream.h"
#include "comm/crypto/job_secret.h"
#include "comm/crypto/wiped.h"
#include "comm/federation/call.h"
#include "comm/federation/channel.h"
#include "comm/federation/meeting.h"
#include "comm/federation/messages.h"
#include "comm/federation/protection.h"
#include "comm/federation/protocol.h"

namespace dtnn::federation {

// The larger one of two clients may have 3.7 times the samples of the other.
inline constexpr double kLeastClients = 1.5;

struct ClientOptions {
  MeetingPlace place;
  std::string name;  // the same when it comes again
  ModelFacts model;
  int64_t samples = 0;  // that it trains on in a round
  // Names of the outputs, in their order; empty: not known. The aggregator gets a hash of them, and
  // refuses a client whose classes have other names than those of another.
  std::vector<std::string> class_names = {};
  ProtectionOptions protection = {};
  // That clients share and the aggregator does not have: needed for Protection::kSharedKey; with
  // masks and threshold keys it keeps the aggregator from playing the other clients.
  std::optional<Secret> key = {};
  // Protection::kSharedKey: sends metrics as they are. They tell the aggregator of a model that it
  // cannot read, and of the client's data.
  bool plain_metrics = false;
  // Where only a sum hides updates (Protector::hides_in_sums): it sends none where the weights of
  // those that are asked hide it no better than so many equal ones would (factors.h). 1: any sum
  // will do.
  double least_clients = kLeastClients;
  // Makes the noise of differential privacy repeatable; nothing: seeds from the system, which is
  // what protects.
  std::optional<Secret> noise_seed = {};
  // So long it tries to reach the aggregator, and waits for a sign of it.
  std::chrono::milliseconds timeout{};
  std::function<void(std::string_view line)> say = {}, warn = {};
  std::function<bool()> interrupted = {};
};

struct RoundTask {
  bool over = false;
  int64_t round = 0, rounds = 0;  // from 1
  double proximal = 0;            // mu: add mu (parameters now - these) to gradients
  std::vector<float> parameters = {};
};

class FederationClient {
 public:
  // Does not connect yet.
  static absl::StatusOr<std::unique_ptr<FederationClient>> Create(const ClientOptions& options,
                                                                  const JobSecret& secret);

  // Waits for the next round in which this client takes part, or the end. Unavailable where the
  // aggregator could not be reached, FailedPrecondition where it refuses this client, Cancelled
  // where this was interrupted.
  absl::StatusOr<RoundTask> Next();
  // Sends the parameters that it has trained in the round that Next() began. OK also where the
  // aggregator does not want them any more, or is gone: Next() continues. With differential privacy
  // it sends no metrics, which would tell of the data; where the aggregator reads only sums, it
  // reads only the sums of metrics too (hidden_metrics.h).
  absl::Status Submit(std::span<const float> parameters, const Report& report);
  // Instead of Submit.
  absl::Status Decline(std::string_view why);

  // With differential privacy: what all attempts at rounds up to the last one that this client was
  // asked for can have told of it, to whoever sees most of it (privacy.h). At least what it has
  // sent: an aggregator that gives one number to several attempts makes it no smaller.
  double Epsilon() const;

  uint64_t bytes_sent() const { return sent_ + (channel_ ? channel_->bytes_sent() : 0); }
  uint64_t bytes_received() const {
    return received_ + (channel_ ? channel_->bytes_received() : 0);
  }

 private:
  using Clock = std::chrono::steady_clock;

  // The round that this client takes part in.
  struct Round {
    uint64_t attempt = 0;
    RoundStart start;
    double factor = 1;              // of this client's parameters
    std::vector<Bytes> parameters;  // chunks, as they came
    std::vector<float> begin;       // what they say, with differential privacy
    std::unique_ptr<ClientProtocol> protocol;
    int notes = 0;         // that have come
    uint32_t replies = 0;  // that were sent
    std::unique_ptr<codec::UpdateClient> codec;
    uint32_t answers = 0;
    bool ready = false;  // the client may train, or is at it
    bool answered = false;
  };

  FederationClient(const ClientOptions& options, const JobSecret& secret, Protector protector)
      : options_(options),
        call_({.place = options.place,
               .timeout = options.timeout,
               .warn = options.warn,
               .interrupted = options.interrupted}),
        secret_(secret),
        protector_(std::move(protector)) {}

  absl::Status Connect();
  absl::Status Introduce(Link link);
  void Close();
  void Disconnect(const absl::Status& why);
  absl::Status AwaitWelcome();
  // Until something comes or may be sent.
  absl::Status Sleep(Clock::time_point until);
  std::optional<size_t> Allowed(const FrameHeader& header) const;
  // The frames that are there, as far as the one that lets this client train, or all of them.
  absl::Status TakeFrames(bool all = false);
  absl::Status TakeFrame(Frame frame);
  absl::Status BeginRound(const Frame& frame);
  absl::Status SetUp();
  // The requirements of this client in the round that was begun.
  absl::StatusOr<Company> CompanyOf(const RoundStart& start) const;
  absl::Status TakeNote(const Frame& frame);
  absl::Status TakeVerdict(const Frame& frame);
  absl::Status Flush();
  // This client cannot go on with the round; it waits for another one. `reason`: frame.h.
  absl::Status Forgo(const absl::Status& why, uint32_t reason);
  bool Wanted(uint64_t attempt) const;
  absl::StatusOr<RoundTask> Task();
  absl::StatusOr<std::vector<float>> DecodeParameters();
  absl::StatusOr<std::vector<float>> PrivateOf(std::span<const float> parameters);
  size_t ParameterChunks(const RoundStart& start) const;
  // A lost connection is not an error of the run.
  absl::Status Survive(const absl::Status& status);
  void Say(std::string_view line) const {
    if (options_.say) options_.say(line);
  }

  const ClientOptions options_;
  const CallOptions call_;
  const JobSecret secret_;
  const Protector protector_;
  std::unique_ptr<Channel> channel_;
  bool welcomed_ = false, was_there_ = false;
  Welcome welcome_;
  Clock::time_point heard_{};  // a sign of the aggregator
  std::optional<Round> round_;
  std::optional<ChaCha20Stream> noise_;
  uint64_t attempts_ = 0;         // up to the last one that it was asked for
  uint64_t private_updates_ = 0;  // that were made to be sent
  uint64_t sent_ = 0, received_ = 0;
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_CLIENT_H_
