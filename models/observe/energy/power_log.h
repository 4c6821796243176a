// Samples of power over time, and the energy of what happened meanwhile.

#ifndef DTNN_MODELS_OBSERVE_ENERGY_POWER_LOG_H_
#define DTNN_MODELS_OBSERVE_ENERGY_POWER_LOG_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dtnn {

// Samples of an interval: equally far apart, the first at its begin and the last at its end.
struct PowerSamples {
  int64_t begin = 0, end = 0;      // nanoseconds of TraceClock
  int64_t lines = 1;               // of the meter
  std::vector<double> watts = {};  // those of line 0, then those of line 1, ...

  int64_t count() const { return int64_t(watts.size()) / lines; }
};

// What a span used, as far as it was measured.
struct SpanEnergy {
  std::vector<double> joules = {};  // by line; empty: nothing is known of it
  int64_t samples = 0;              // that were taken during the span
};

class PowerLog {
 public:
  // Keeps so many samples, 8 bytes each: those of later intervals are dropped.
  static constexpr int64_t kMostSamples = int64_t{1} << 24;

  // In the order of time; as many lines as before. Fewer than two samples of a line say nothing.
  void Add(PowerSamples interval, int64_t most_samples = kMostSamples);
  bool empty() const { return intervals_.empty(); }
  int64_t lines() const { return empty() ? 0 : intervals_.front().lines; }
  int64_t dropped() const { return dropped_; }

  // The energy of [begin, end], if one interval holds it, else nothing. Power between two samples
  // is linear; of the samples inside the span, their mean stands for the time from the first to the
  // last.
  SpanEnergy EnergyOf(int64_t begin, int64_t end) const;

  // "Time;Watts;Line0;...": a line per sample, with seconds since the first one, and the sum of all
  // lines before each line's power.
  std::string Text() const;

 private:
  std::vector<PowerSamples> intervals_;
  int64_t samples_ = 0, dropped_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_ENERGY_POWER_LOG_H_
