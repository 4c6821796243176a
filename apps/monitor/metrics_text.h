// Metrics as Prometheus reads them: its text format 0.0.4.
//
//   MetricsText text;
//   text.Family("dtnn_rounds_total", "counter", "Rounds that are done.");
//   text.Add({}, 7);
//   text.Add({{"model", name}}, 1.5);
//
// Values of labels may have any origin: control characters and broken UTF-8 become escapes, and
// what is longer than kMostLabel bytes is cut, so that no value begins a line of its own. The
// caller bounds how many there are.

#ifndef DTNN_APPS_MONITOR_METRICS_TEXT_H_
#define DTNN_APPS_MONITOR_METRICS_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "apps/monitor/histogram.h"

namespace dtnn {

class MetricsText {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  static constexpr std::string_view kType = "text/plain; version=0.0.4";
  static constexpr size_t kMostLabel = 256;

  // What follows is of this family. `type`: counter, gauge or histogram.
  void Family(std::string_view name, std::string_view type, std::string_view help);
  void Add(Labels labels, int64_t value);
  void Add(Labels labels, double value);
  void Add(Labels labels, const Histogram& histogram);
  // A family of one value without labels.
  template <class T>
  void One(std::string_view name, std::string_view type, std::string_view help, T value) {
    Family(name, type, help);
    Add({}, value);
  }

  const std::string& text() const { return text_; }

 private:
  void Line(std::string_view suffix, Labels labels, std::string_view bound, std::string_view value);

  std::string text_, name_;
};

}  // namespace dtnn

#endif  // DTNN_APPS_MONITOR_METRICS_TEXT_H_
