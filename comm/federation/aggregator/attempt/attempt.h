// One attempt at a round, on the aggregator's side: the clients that were asked, what has come, and
// the sum. It knows neither connections nor the time; the aggregator tells it both.
//
//   set-up    notes of the protocol, until all that are there have replied
//   updates   until all that are there have reported, or the deadline; then, where its caller wants
//             that, until Confirm
//   finish    what removes masks, in a note or two, or decrypts; the mean; then done
//
// An attempt ends with a sum of at least `quorum` updates, or fails. A client that sends something
// wrong, or is lost, is left out, with the reason. An update counts when all of it is there.
//
// Updates are added as they become complete (attempt_sum.h), so what is held is the sum, and the
// updates that are on their way or wait to be added: of `receive_bytes` together, but always two
// (receive_places.h). What is in the sum stays there: a client that is lost once its update is
// complete counts, and so does one that breaks the rules then, which is named; where nothing of it
// may count, or all are needed, the attempt fails. Robust means hold all updates until the end.
//
// `run` may add them on another thread, while this one listens, and do the last step, which
// rebuilds secrets, draws masks again and computes the mean, and may take minutes.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_ATTEMPT_ATTEMPT_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_ATTEMPT_ATTEMPT_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/aggregator/asked.h"
#include "comm/federation/aggregator/attempt/attempt_sum.h"
#include "comm/federation/aggregator/attempt/receive_places.h"
#include "comm/federation/aggregator/inquiry.h"
#include "comm/federation/aggregator/observer/federation_observer.h"
#include "comm/federation/aggregator/sums/robust_mean.h"
#include "comm/federation/channel.h"
#include "comm/federation/compression.h"
#include "comm/federation/frame.h"
#include "comm/federation/messages.h"
#include "comm/federation/protection.h"
#include "comm/federation/protocol.h"
#include "comm/model_sync.h"
#include "comm/secrets/sums/codec.h"

namespace dtnn::federation {

struct AttemptOptions {
  uint64_t number = 0;
  RunNonce nonce{};
  int quorum = 1;                        // updates that are enough
  std::chrono::milliseconds deadline{};  // for the updates; a quarter of it for each other step
  // Of the update less the parameters it began with, as Euclidean norm; 0: any.
  double max_update_norm = 0;
  RankWeighting weighting = RankWeighting::kEqual;  // by which clients have their factors
  RobustOptions robust = {};     // of plain updates, where the parameters they began with are known
  Compression compression = {};  // of plain updates, of so many trainable numbers
  size_t trainable = 0;
  uint64_t receive_bytes = uint64_t{1} << 30;
  bool awaits_confirm = false;  // before it makes a sum
  // Does it, on any thread, after what it was given before; Advance takes the result when it is
  // there. Nothing: at once.
  std::function<void(std::function<void()> work)> run = {};
  std::function<void(const std::stop_token& stop)> sum_begins = {};  // the last step, there
};

class Attempt : public Inquiry {
 public:
  using Clock = std::chrono::steady_clock;
  using Send = std::function<void(int position, FrameKind kind, uint32_t index, SharedBytes body)>;

  // Waits for work that `run` was given.
  ~Attempt() override;

  // `parameters`: those the clients begin with, for their norms; empty where they are not known.
  // `job`: for the tags of messages. `values`: of an update. All references outlive the attempt.
  static absl::StatusOr<std::unique_ptr<Attempt>> Create(const AttemptOptions& options,
                                                         const Protector& protector,
                                                         const Secret& job, size_t values,
                                                         std::span<const float> parameters,
                                                         std::vector<Asked> asked, Send send);

  std::optional<size_t> Allowed(int position, const FrameHeader& header) override;
  void Hear(int position) override { places_[size_t(position)].receiving.heard = now_; }
  void Take(int position, Frame frame) override;
  void Lose(int position, const std::string& why) override;
  // Its client may no longer take part: nothing that it has sent counts. Where its update is
  // accepted already the attempt fails, also one that had its sum. But a protected sum that
  // `opened` counts stays: the next attempt's, without that update, would reveal it.
  void Revoke(int position, const std::string& why);
  // All updates are there, and it waits for Confirm.
  bool complete() const { return complete_ && !confirmed_ && phase_ == Phase::kUpdates; }
  void Confirm() { confirmed_ = true; }
  // What time brings; to be called after each of the above, and at next().
  void Advance(Clock::time_point now);
  // Nobody is late before what has come in time is added.
  Clock::time_point next() const { return adding_.empty() ? until_ : Clock::time_point::max(); }
  // Whatever `run` was given ends soon. Nothing comes of the attempt then.
  void Stop() { stop_.request_stop(); }

  uint64_t number() const override { return options_.number; }
  bool over() const override { return phase_ == Phase::kDone || phase_ == Phase::kFailed; }
  // What it waits for; nothing when it is over.
  std::optional<FederationObserver::Step> step() const;
  // Why there is no sum; OK else.
  const absl::Status& failure() const { return failure_; }
  bool answered(int position) const override { return places_[size_t(position)].reported; }
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
  // Where the clip adapts: the share of updates that were not longer, but for noise.
  std::optional<double> below() const { return below_; }
  // By chunk, then: messages for clients.
  const std::vector<Bytes>& encrypted() const { return encrypted_; }
  // The sum is no longer needed.
  void Forget();

 private:
  enum class Phase : uint8_t { kSetUp, kUpdates, kReplies, kAnswers, kSum, kDone, kFailed };

  // By the last step.
  struct Made {
    absl::Status finished;  // ServerProtocol::FinishReplies
    absl::StatusOr<std::vector<float>> mean = std::vector<float>();
    absl::StatusOr<std::vector<Bytes>> encrypted = std::vector<Bytes>();
  };

  struct Place {
    int note = -1;          // the last that it was sent
    int replies = 0;        // so many have come
    bool reported = false;  // or declined
    bool gone = false;
    bool adding = false;        // its update is complete, and not in the sum yet
    std::vector<Bytes> chunks;  // of the update
    uint32_t answers = 0;
    ReceivePlaces::Holder receiving = {};
  };

  Attempt(const AttemptOptions& options, const Protector& protector, size_t values,
          std::vector<Asked> asked, Send send, uint64_t places)
      : options_(options),
        protector_(&protector),
        values_(values),
        send_(std::move(send)),
        asked_(std::move(asked)),
        places_(asked_.size()),
        confirmed_(!options.awaits_confirm),
        receive_places_(places) {}

  size_t chunks() const { return protector_->chunks(protector_->sum_values(values_)); }
  bool Waits(int position) const;  // for what it has not sent yet
  // Nothing that comes changes the sum.
  bool has_all() const { return phase_ == Phase::kSum || over(); }
  static void Count(Place& place, FrameKind kind);
  void Empty(Place& place);
  void Release();
  // Its update is complete, and was good, or may be.
  bool HasUpdate(int position) const;
  bool IsInSum(int position) const;
  void Do(std::function<void()> work) const;
  void TakeAdded();
  void DropSlow();
  absl::Status TakeFrame(int position, Frame& frame);
  absl::Status TakeReport(int position, std::span<const uint8_t> body);
  absl::Status TakeDecline(int position, const Frame& frame);
  absl::Status FitFactor(Asked& asked) const;
  void Accuse(int accused, int accuser);
  absl::Status EndReplies(Clock::time_point now);
  void NameLiars();
  void DoubtAll();
  std::vector<int> Silent() const;  // those who have not answered the last note
  void LeaveOutSilent(const std::vector<int>& silent);
  absl::Status BeginToAdd(int position);
  void SendNote(int position, const SharedBytes& note);
  void LeaveOut(int position, const std::string& why);
  void Enter(Phase phase, Clock::time_point now, std::chrono::milliseconds time);
  absl::Status Step(Clock::time_point now, bool late);
  absl::Status EndSetUp(Clock::time_point now);
  absl::Status EndUpdates(Clock::time_point now);
  absl::Status AddUp(Clock::time_point now);
  void BeginSum();
  absl::Status EndSum();
  void TakeBits();
  void TakeMetrics();

  const AttemptOptions options_;
  const Protector* protector_;
  const size_t values_;  // of a model
  const Send send_;
  std::vector<Asked> asked_;
  std::vector<Place> places_;
  std::unique_ptr<ServerProtocol> protocol_;
  std::shared_ptr<AttemptSum> sum_;  // until it is over
  size_t most_message_ = 0;
  bool asks_ = false;  // clients help to decrypt
  Phase phase_ = Phase::kSetUp;
  bool begun_ = false;
  bool complete_ = false, confirmed_ = false;
  int note_ = 0;  // whose replies are awaited
  Clock::time_point now_{};
  ReceivePlaces receive_places_;
  std::set<int> survivors_;
  bool opened_ = false;
  std::map<int, std::set<int>> accusers_;  // of a position
  Clock::time_point until_{};
  absl::Status failure_;
  std::vector<float> average_;
  Metrics metrics_;
  std::optional<double> below_;
  std::vector<Bytes> encrypted_;
  struct Adding {
    int position = 0;
    std::future<absl::Status> added;
  };
  // Work that uses protocol_ and sum_, in the order in which it is done.
  std::deque<Adding> adding_;
  std::future<Made> made_;
  std::vector<int> silent_;  // when the last one began
  std::stop_source stop_;    // of that work
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_ATTEMPT_ATTEMPT_H_
