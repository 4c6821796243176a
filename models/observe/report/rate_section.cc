#include "models/observe/report/rate_section.h"

#include <cmath>

#include "models/observe/report/charts/html.h"
#include "models/observe/report/charts/line_chart.h"
#include "models/observe/report/charts/page.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

std::string FormatRates(const LearningRateRange& range) {
  if (range.points.empty()) return "";
  LineSeries series = {.name = "loss"};
  HtmlTable table = {.columns = {"learning rate", "loss"}};
  for (const LearningRateRange::Point& point : range.points) {
    series.x.push_back(std::log10(point.rate));
    series.y.push_back(point.loss);
    table.rows.push_back({HtmlNumber(point.rate), HtmlNumber(point.loss)});
  }
  return StrCat(
      "<p>Before training, steps with growing rates on a copy of the network found the "
      "learning rate <strong>",
      HtmlNumber(range.suggestion),
      "</strong>: a tenth of the rate at which the loss was least.</p>\n",
      PictureGrid({DrawLines({.id = "rates",
                              .title = "Loss by learning rate",
                              .x_name = "log10 of the learning rate",
                              .series = {std::move(series)}})}),
      FoldedTable("Losses by learning rate as a table", table));
}

}  // namespace dtnn
