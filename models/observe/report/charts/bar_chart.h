// Horizontal bars, each of one or more pieces one after the other.

#ifndef DTNN_MODELS_OBSERVE_REPORT_CHARTS_BAR_CHART_H_
#define DTNN_MODELS_OBSERVE_REPORT_CHARTS_BAR_CHART_H_

#include <string>
#include <vector>

#include "models/observe/report/charts/svg.h"

namespace dtnn {

struct BarChart {
  struct Row {
    std::string name = {};
    std::vector<double> values = {};  // as many as `pieces`, none negative
    std::string label = {};           // at the bar's end
  };
  std::string id = {}, title = {};
  std::vector<std::string> pieces = {};  // their names
  std::vector<Row> rows = {};
};

SvgPicture DrawBars(const BarChart& chart);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_REPORT_CHARTS_BAR_CHART_H_
