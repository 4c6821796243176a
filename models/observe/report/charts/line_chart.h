// Values over epochs, or over anything else, as lines.
//
// Of more than a few hundred points of a line those in between are left out, never its first, last,
// lowest or highest. Values that are NaN or infinite leave a gap. The description for screen
// readers tells of each line its first and last value, the lowest and the highest; the numbers
// belong into a table beside it.

#ifndef DTNN_MODELS_OBSERVE_REPORT_CHARTS_LINE_CHART_H_
#define DTNN_MODELS_OBSERVE_REPORT_CHARTS_LINE_CHART_H_

#include <string>
#include <vector>

#include "models/observe/report/charts/svg.h"

namespace dtnn {

struct LineSeries {
  std::string name = {};
  std::vector<double> x = {}, y = {};  // as many of both; x does not fall
};

struct LineChart {
  std::string id = {};  // of the picture
  std::string title = {}, x_name = "epoch", y_name = {};
  std::vector<LineSeries> series = {};
  bool from_zero = false;  // the axis of y begins there
};

SvgPicture DrawLines(const LineChart& chart);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_REPORT_CHARTS_LINE_CHART_H_
