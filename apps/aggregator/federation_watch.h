// Watches a federation for its monitor (apps/monitor/monitor.h): the aggregator's thread notes what
// happens, the monitor's thread copies numbers and lists, and makes texts of them afterwards.

#ifndef DTNN_APPS_AGGREGATOR_FEDERATION_WATCH_H_
#define DTNN_APPS_AGGREGATOR_FEDERATION_WATCH_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "apps/aggregator/federation_facts.h"
#include "apps/aggregator/federation_page.h"
#include "apps/monitor/monitor.h"
#include "comm/federation/aggregator/observer/federation_observer.h"
#include "comm/federation/aggregator/round_record.h"

namespace dtnn {

class FederationWatch : public MonitorSource, public federation::FederationObserver {
 public:
  using Clock = std::chrono::steady_clock;

  // Clients that hear nothing for `patience` take the connection for lost: the aggregator is
  // not healthy then.
  explicit FederationWatch(std::chrono::milliseconds patience,
                           std::function<Clock::time_point()> now = &Clock::now);

  // Before the rounds.
  // `hides_drawn`: FederationLists.
  void Begin(const std::string& network, int64_t rounds_done, int64_t rounds, bool hides_drawn);
  // Rounds that were done before this process began, as --history-file has them: as CSV.
  void Remember(std::string_view history);
  // A round has a sum, and is saved and tested; then it is done.
  void OnSave();
  void OnRoundDone(const federation::RoundRecord& record);
  // No more rounds.
  void OnEnd();

  absl::Status Health() const override;
  std::string Metrics() const override { return MetricsOf(Facts()); }
  std::string Status() const override { return StatusOf(Facts(), Lists()); }
  std::string Page() const override { return FederationPage(); }

  void OnClient(const std::string& name, int64_t samples) override;
  void OnGone(const std::string& name) override;
  void OnRefusal() override;
  void OnRevoked(const std::string& name) override;
  void OnLate(const std::string& name) override;
  void OnAttempt(int64_t round, std::span<const federation::Asked> asked) override;
  void OnAsk(const std::string& name) override;
  void OnAskEnd(const std::string& name) override;
  void OnStepEnd(Step step, double seconds) override;
  void OnAttemptEnd(std::span<const federation::Asked> asked, bool good) override;
  void OnTurn(uint64_t sent, uint64_t received) override;

 private:
  FederationFacts Facts() const;
  FederationLists Lists() const;
  double SecondsSince(Clock::time_point time) const;
  // Between two rounds: with a buffer some clients may still train.
  FederationFacts::State Between() const;

  const std::chrono::milliseconds patience_;
  const std::function<Clock::time_point()> now_;
  mutable std::mutex mutex_;
  FederationFacts facts_;
  bool hides_drawn_ = false;
  int64_t asks_ = 0;                                        // with a buffer: clients that train now
  std::map<std::string, FederationFacts::Client> clients_;  // also some that have left
  std::deque<std::shared_ptr<const FederationFacts::Round>> rounds_;  // the last kMostRounds
  Clock::time_point turned_, saves_since_;
};

}  // namespace dtnn

#endif  // DTNN_APPS_AGGREGATOR_FEDERATION_WATCH_H_
