#include "models/observe/energy/power_log.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "tensor/text/json_text.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// Joules of one line in units of the time between two samples; `from` and `to` are positions among
// them.
double Integrate(std::span<const double> watts, double from, double to) {
  const auto at = [&](double place) {
    const size_t before = std::min(size_t(place), watts.size() - 2);
    const double share = place - double(before);
    return (1 - share) * watts[before] + share * watts[before + 1];
  };
  const double first = std::ceil(from), last = std::floor(to);
  if (first > last) return (to - from) * (at(from) + at(to)) / 2;
  const auto inner = watts.subspan(size_t(first), size_t(last - first) + 1);
  const double mean = std::reduce(inner.begin(), inner.end(), 0.0) / double(inner.size());
  return (first - from) * (at(from) + inner.front()) / 2 + (last - first) * mean +
         (to - last) * (inner.back() + at(to)) / 2;
}

}  // namespace

void PowerLog::Add(PowerSamples interval, int64_t most_samples) {
  if (interval.count() < 2 || interval.end <= interval.begin) return;
  if (!empty() && interval.lines != lines()) return;
  const int64_t more = int64_t(interval.watts.size());
  if (more > most_samples - samples_) {
    dropped_ += more;
    return;
  }
  samples_ += more;
  intervals_.push_back(std::move(interval));
}

SpanEnergy PowerLog::EnergyOf(int64_t begin, int64_t end) const {
  const auto after = std::ranges::upper_bound(intervals_, begin, {}, &PowerSamples::begin);
  if (after == intervals_.begin() || begin >= end) return {};
  const PowerSamples& interval = *(after - 1);
  if (end > interval.end) return {};
  const int64_t count = interval.count();
  const double period = double(interval.end - interval.begin) / double(count - 1);
  const double from = double(begin - interval.begin) / period;
  const double to = std::min(double(end - interval.begin) / period, double(count - 1));
  SpanEnergy energy = {
      .samples = std::max<int64_t>(0, int64_t(std::floor(to)) - int64_t(std::ceil(from)) + 1)};
  for (int64_t line = 0; line < interval.lines; ++line) {
    const std::span<const double> watts =
        std::span(interval.watts).subspan(size_t(line * count), size_t(count));
    energy.joules.push_back(1e-9 * period * Integrate(watts, from, to));
  }
  return energy;
}

std::string PowerLog::Text() const {
  std::string text = "Time;Watts";
  for (int64_t line = 0; line < lines(); ++line) StrAppend(&text, ";Line", line);
  text += "\n";
  for (const PowerSamples& interval : intervals_) {
    const int64_t count = interval.count();
    const double period = double(interval.end - interval.begin) / double(count - 1);
    const double since = double(interval.begin - intervals_.front().begin);
    for (int64_t i = 0; i < count; ++i) {
      double sum = 0;
      std::string lines;
      for (int64_t line = 0; line < interval.lines; ++line) {
        const double watts = interval.watts[size_t(line * count + i)];
        sum += watts;
        StrAppend(&lines, ";", JsonNumber(watts));
      }
      StrAppend(&text, JsonNumber(1e-9 * (since + double(i) * period)), ";", JsonNumber(sum), lines,
                "\n");
    }
  }
  return text;
}

}  // namespace dtnn
