// Where the lines of a chart's axis stand: round numbers.

#ifndef DTNN_MODELS_OBSERVE_REPORT_CHARTS_TICKS_H_
#define DTNN_MODELS_OBSERVE_REPORT_CHARTS_TICKS_H_

#include <vector>

namespace dtnn {

// Multiples of 1, 2 or 5 times a power of ten: from the last one that is at most `low` to the first
// that is at least `high`, at most `most` + 2 of them. Both are finite, low <= high; equal ones get
// room on both sides.
std::vector<double> Ticks(double low, double high, int most);
// The same, of whole numbers only, within [low, high].
std::vector<double> WholeTicks(double low, double high, int most);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_REPORT_CHARTS_TICKS_H_
