// One attempt at a round, on the aggregator's side: the clients that were asked, what has come, and
// the sum. It knows neither connections nor the time; the aggregator tells it both.
//
//   set-up    notes of the protocol, until all that are there have replied
//   updates   until all that are there have reported, or the deadline
//   finish    what removes masks, in a note or two, or decrypts; then done
//
// An attempt ends with a sum of at least `quorum` updates, or fails. A client that sends something
// wrong, or is lost, is left out, with the reason. An update counts when all of it is there.
//
// Plain updates are added as they become complete (plain_sum.h), so what is held is the sum, and
// the updates that are on their way: of `receive_bytes` together, but always two. Further clients
// have to wait before they may send. While some do, one that sends gets a quarter of the deadline,
// and loses its place, with its update, when nothing of it has come for 30 seconds. Robust means,
// and protected updates, which a client may still take out of the sum, are held until the end.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_ATTEMPT_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_ATTEMPT_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/aggregator/asked.h"
#include "comm/federation/aggregator/observer/federation_observer.h"
#include "comm/federation/aggregator/plain_sum.h"
#include "comm/federation/aggregator/robust_mean.h"
#include "comm/federation/channel.h"
#include "comm/federation/frame.h"
#include "comm/federation/messages.h"
#include "comm/federation/protection.h"
#include "comm/federation/protocol.h"
#include "comm/secrets/sums/authenticated.h"

namespace dtnn::federation {

struct AttemptOptions {
  uint64_t number = 0;
  RunNonce nonce{};
  int quorum = 1;                        // updates that are enough
  std::chrono::milliseconds deadline{};  // for the updates; a quarter of it for each other step
  // Of the update less the parameters it began with, as Euclidean norm; 0: any.
  double max_update_norm = 0;
  RobustOptions robust = {};  // of plain updates, where the parameters they began with are known
  uint64_t receive_bytes = uint64_t{1} << 30;
};

class Attempt {
 public:
  using Clock = std::chrono::steady_clock;
  using Send = std::function<void(int position, FrameKind kind, uint32_t index, SharedBytes body)>;

  // `parameters`: those the clients begin with, for their norms; empty where they are not known.
  // `job`: for the tags of messages. `values`: of an update. All references outlive the attempt.
  static absl::StatusOr<std::unique_ptr<Attempt>> Create(const AttemptOptions& options,
                                                         const Protector& protector,
                                                         const Secret& job, size_t values,
                                                         std::span<const float> parameters,
                                                         std::vector<Asked> asked, Send send);

  // So many updates of plain numbers may be on their way at a time.
  static uint64_t Places(uint64_t receive_bytes, size_t values) {
    return std::max<uint64_t>(2, receive_bytes / (values * sizeof(float)));
  }

  // The longest body that a client at this position may send now; Channel::kLater where it has to
  // wait for others. It does send what it may.
  std::optional<size_t> Allowed(int position, const FrameHeader& header);
  // Bytes of this position have come.
  void Hear(int position) { places_[size_t(position)].heard = now_; }
  // Whatever is wrong with it leaves the client out.
  void Take(int position, Frame frame);
  // Its connection is gone, or it breaks the rules.
  void Lose(int position, const std::string& why);
  // Its client may no longer take part: nothing that it has sent counts. Where its update is
  // accepted already the attempt fails, also one that had its sum.
  void Revoke(int position, const std::string& why);
  // What time brings; to be called after each of the above, and at next().
  void Advance(Clock::time_point now);
  Clock::time_point next() const { return until_; }

  uint64_t number() const { return options_.number; }
  bool over() const { return phase_ == Phase::kDone || phase_ == Phase::kFailed; }
  // What it waits for; nothing when it is over.
  std::optional<FederationObserver::Step> step() const;
  // Why there is no sum; OK else.
  const absl::Status& failure() const { return failure_; }
  // The position is done with: another round may ask its client. What comes from it now is counted
  // and thrown away.
  bool answered(int position) const { return places_[size_t(position)].reported; }
  const std::vector<Asked>& asked() const { return asked_; }
  // The updates of the sum that the aggregator was given the means to read, whether it could or
  // not; 0 where it was not. Updates that need no means are not counted.
  int opened() const { return opened_ ? int(survivors_.size()) : 0; }

  // For an attempt that has a sum: the sum of the accepted clients' factors, and the mean of their
  // parameters.
  double divisor() const;
  // Empty where only clients can read it.
  const std::vector<float>& average() const { return average_; }
  // Where the clients' own were hidden in the sum: their means. Reports have none then.
  const Metrics& metrics() const { return metrics_; }
  // By chunk, then: messages for clients.
  const std::vector<Bytes>& encrypted() const { return encrypted_; }
  // The sum is no longer needed.
  void Forget();

 private:
  enum class Phase : uint8_t { kSetUp, kUpdates, kReplies, kAnswers, kDone, kFailed };

  struct Place {
    int note = -1;          // the last that it was sent
    int replies = 0;        // so many have come
    bool reported = false;  // or declined
    bool gone = false;
    std::vector<Bytes> chunks;  // of the update
    std::vector<float> values;  // of a plain update of a robust mean, when it was accepted
    uint32_t answers = 0;
    bool holds = false;                 // one of the places for updates on their way
    Clock::time_point from{}, heard{};  // since when, and when bytes of it came
  };

  Attempt(const AttemptOptions& options, const Protector& protector, size_t values,
          std::span<const float> parameters, std::vector<Asked> asked, Send send)
      : options_(options),
        protector_(&protector),
        values_(values),
        sum_values_(protector.sum_values(values)),
        parameters_(parameters),
        send_(std::move(send)),
        asked_(std::move(asked)),
        places_(asked_.size()) {}

  size_t chunks() const { return protector_->chunks(sum_values_); }
  std::span<float> ChunkOf(std::vector<float>& values, size_t chunk) const;
  size_t ChunkSize(size_t chunk) const;
  ChunkId IdOf(size_t chunk) const { return {options_.number, uint32_t(chunk)}; }
  bool Waits(int position) const;  // for what it has not sent yet
  static void Count(Place& place, FrameKind kind);
  void Empty(Place& place);
  void Release();
  bool AddsAtOnce() const {
    return federation::AddsAtOnce(protector_->protection(), options_.robust);
  }
  bool HasPlace(Place& place);
  void DropSlow();
  absl::Status TakeFrame(int position, Frame& frame);
  absl::Status TakeReport(int position, std::span<const uint8_t> body);
  absl::Status TakeDecline(int position, const Frame& frame);
  void Accuse(int accused, int accuser);
  absl::Status EndReplies(Clock::time_point now);
  absl::Status FinishReplies();
  void LeaveOutSilent();
  absl::Status Inspect(int position);
  absl::Status Read(int position, size_t chunk, std::span<float> values);
  void SendNote(int position, const SharedBytes& note);
  void LeaveOut(int position, const std::string& why);
  void Enter(Phase phase, Clock::time_point now, std::chrono::milliseconds time);
  absl::Status Step(Clock::time_point now, bool late);
  absl::Status EndSetUp(Clock::time_point now);
  absl::Status EndUpdates(Clock::time_point now);
  absl::Status AddUp(Clock::time_point now);
  void AverageOfPlain();
  absl::Status ReadSums();
  void TakeMetrics();

  const AttemptOptions options_;
  const Protector* protector_;
  const size_t values_, sum_values_;  // of a model, and of what is summed
  const std::span<const float> parameters_;
  const Send send_;
  std::vector<Asked> asked_;
  std::vector<Place> places_;
  std::unique_ptr<ServerProtocol> protocol_;
  std::unique_ptr<codec::UpdateServer> codec_;
  Phase phase_ = Phase::kSetUp;
  bool begun_ = false;
  int note_ = 0;  // whose replies are awaited
  Clock::time_point now_{};
  int holding_ = 0;                                    // places with `holds`
  std::optional<Clock::time_point> crowd_since_ = {};  // one had to, for the first time
  bool crowd_ = false;  // since the last Advance, a client had to wait for one
  std::optional<PlainSum> plain_;
  std::set<int> survivors_;
  bool opened_ = false;
  std::map<int, std::set<int>> accusers_;  // of a position
  std::vector<codec::UpdateSum> sums_;
  Clock::time_point until_{};
  absl::Status failure_;
  std::vector<float> average_;
  Metrics metrics_;
  std::vector<Bytes> encrypted_;
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_ATTEMPT_H_
