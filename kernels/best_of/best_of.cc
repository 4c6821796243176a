#include "kernels/best_of/best_of.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr int kRounds = 4;  // the first warms up
constexpr double kDropAbove = 1.25;
constexpr double kUnknown = std::numeric_limits<double>::infinity();

double Median(std::vector<double> times) {
  if (times.empty()) return kUnknown;
  std::ranges::sort(times);
  const size_t middle = times.size() / 2;
  return times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
}

// A candidate with what its calls took.
class Runner {
 public:
  explicit Runner(const BestOfCandidate& candidate) : candidate_(&candidate) {}

  absl::Status Run(const BestOfClock& clock, bool counted) {
    DTNN_ASSIGN_OR_RETURN(const double seconds, WithContext(Time(clock), candidate_->name));
    if (counted && std::isfinite(seconds) && seconds >= 0) seconds_.push_back(seconds);
    return absl::OkStatus();
  }

  double median() const { return Median(seconds_); }
  bool measured() const { return !seconds_.empty(); }
  const std::string& name() const { return candidate_->name; }

 private:
  absl::StatusOr<double> Time(const BestOfClock& clock) const {
    if (candidate_->timed_call != nullptr) return candidate_->timed_call();
    const double begin = clock();
    DTNN_RETURN_IF_ERROR(candidate_->call());
    return clock() - begin;
  }

  const BestOfCandidate* candidate_;
  std::vector<double> seconds_;
};

}  // namespace

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

absl::StatusOr<Decision> FindFastest(std::span<const BestOfCandidate> candidates,
                                     const BestOfClock& clock) {
  if (candidates.empty()) return absl::InvalidArgumentError("there is no candidate to choose");
  std::vector<Runner> runners(candidates.begin(), candidates.end());
  std::vector<Runner*> left;
  for (Runner& runner : runners) left.push_back(&runner);
  for (int round = 0; round < kRounds && left.size() > 1; ++round) {
    for (Runner* runner : left) DTNN_RETURN_IF_ERROR(runner->Run(clock, /*counted=*/round > 0));
    double best = kUnknown;
    for (const Runner* runner : left) best = std::min(best, runner->median());
    std::erase_if(left, [&](const Runner* runner) {
      return runner->measured() && runner->median() > kDropAbove * best;
    });
  }
  Decision decision;
  decision.chosen = (*std::ranges::min_element(left, {}, &Runner::median))->name();
  for (const Runner& runner : runners) {
    CandidateTime& candidate = decision.candidates.emplace_back();
    candidate.name = runner.name();
    if (runner.measured()) candidate.microseconds = 1e6 * runner.median();
  }
  return decision;
}

absl::StatusOr<std::string> BestOf::Choose(const BestOfKey& key, MakeCandidates make) {
  const Decision* decision = options_.known.Find(key);
  if (decision == nullptr) {
    DTNN_ASSIGN_OR_RETURN(const std::vector<BestOfCandidate> candidates, make());
    DTNN_ASSIGN_OR_RETURN(Decision found, FindFastest(candidates, options_.clock));
    decision = &options_.known.Add(key, std::move(found));
    ++timed_;
  }
  ++uses_[key];
  return decision->chosen;
}

std::string BestOf::NameOf(std::string_view candidate) const {
  const auto named = options_.names.find(candidate);
  return named == options_.names.end() ? std::string(candidate) : named->second;
}

void BestOf::Adopt(const Decisions& others) {
  Decisions adopted;
  for (const auto& [key, decision] : others.all()) {
    adopted.Add(key.of_gpu() ? key : BestOfKey::Here(key.operation, key.direction, key.problem),
                decision);
  }
  for (const auto& [key, decision] : options_.known.all()) adopted.Add(key, decision);
  options_.known = std::move(adopted);
}

}  // namespace dtnn
