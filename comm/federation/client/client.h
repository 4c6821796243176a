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

#ifndef DTNN_COMM_FEDERATION_CLIENT_CLIENT_H_
#define DTNN_COMM_FEDERATION_CLIENT_CLIENT_H_

#include <algorithm>
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
#include "comm/federation/channel.h"
#include "comm/federation/client/call.h"
#include "comm/federation/client/client_options.h"
#include "comm/federation/client/client_round.h"
#include "comm/federation/messages.h"
#include "comm/federation/protection.h"
#include "comm/secrets/crypto/chacha20_stream.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/secrets/crypto/wiped.h"

namespace dtnn::federation {

class FederationClient {
 public:
  // Does not connect yet.
  static absl::StatusOr<std::unique_ptr<FederationClient>> Create(const ClientOptions& options,
                                                                  const JobSecret& secret);

  // Waits for the next round in which this client takes part, or the end. Unavailable where the
  // aggregator could not be reached, FailedPrecondition where it refuses this client, Cancelled
  // where this was interrupted.
  absl::StatusOr<RoundTask> Next();
  // Sends the parameters that it has trained in the round that Next() began, and after them, where
  // there is a control variate, what the client's has changed by. OK also where the
  // aggregator does not want them any more, or is gone: Next() continues. With differential privacy
  // it sends no metrics, which would tell of the data; where the aggregator reads only sums, it
  // reads only the sums of metrics too (hidden_metrics.h).
  absl::Status Submit(std::span<const float> parameters, const Report& report);
  // Instead of Submit.
  absl::Status Decline(std::string_view why, DeclineReason reason = kOwnFault);
  // Whether the aggregator uses what was submitted last: false also where it was not sent; nothing
  // where nothing was submitted, and where the connection was lost before an answer came.
  std::optional<bool> accepted() const { return accepted_; }

  // With differential privacy: what all attempts at rounds up to the last one that this client was
  // asked for can have revealed of it, to the party that sees most (privacy.h). At least what it
  // has sent: an aggregator that gives one number to several attempts makes it no smaller.
  double Epsilon() const;

  uint64_t bytes_sent() const { return sent_ + (channel_ ? channel_->bytes_sent() : 0); }
  uint64_t bytes_received() const {
    return received_ + (channel_ ? channel_->bytes_received() : 0);
  }

 private:
  using Clock = std::chrono::steady_clock;

  FederationClient(const ClientOptions& options, const JobSecret& secret, Protector protector)
      : options_(options),
        call_({.place = options.place,
               .identity = {.name = options.name,
                            .key_file = options.identity_key_file,
                            .aggregator = options.aggregator_key},
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
  absl::Status Flush();
  // Says how many clients this aggregator has, where they are others than before.
  void SendSize();
  // How long nothing may come from an aggregator that is there.
  std::chrono::milliseconds Patience() const {
    return std::max(options_.timeout, std::chrono::milliseconds(2 * welcome_.alive_ms));
  }
  bool Ready() const { return round_ && round_->state() == ClientRound::State::kReady; }
  bool Wanted(uint64_t attempt) const;
  absl::StatusOr<std::vector<float>> PrivateOf(std::span<const float> parameters);
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
  GroupSize told_;             // what it has, as the other end knows
  Clock::time_point heard_{};  // a sign of the aggregator
  std::optional<ClientRound> round_;
  std::optional<bool> accepted_;
  // The parameters that it got, where it sends no more than what it has changed of them.
  std::vector<float> begin_;
  std::optional<ChaCha20Stream> noise_;
  uint64_t attempts_ = 0;         // up to the last one that it was asked for
  uint64_t private_updates_ = 0;  // that were made to be sent
  uint64_t sent_ = 0, received_ = 0;
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_CLIENT_CLIENT_H_
