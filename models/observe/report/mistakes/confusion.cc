#include "models/observe/report/mistakes/confusion.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_format.h"
#include "models/observe/report/charts/html.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr int64_t kMostOfMatrix = 20;
constexpr size_t kMostConfusions = 30;

// The more of its row's samples, the darker, but never too dark for the text on it.
std::string Cell(int64_t count, int64_t row_sum, bool right) {
  const double share = row_sum > 0 ? double(count) / double(row_sum) : 0;
  return absl::StrFormat("<td style=\"background:rgb(%s / %.2f)\">%d</td>",
                         right ? "0 121 90" : "192 79 0", 0.55 * share, count);
}

std::string Matrix(const Confusion& confusion, std::span<const std::string> names) {
  std::string html =
      "<div class=\"scroll\"><table class=\"matrix\"><caption>Rows are true classes, columns "
      "predicted ones</caption>\n<thead><tr><th scope=\"col\">true</th>";
  const int64_t classes = confusion.classes;
  for (int64_t column = 0; column < classes; ++column) {
    StrAppend(&html, "<th scope=\"col\"><abbr title=\"", HtmlText(ClassLabel(column, names)), "\">",
              column, "</abbr></th>");
  }
  html += "</tr></thead>\n<tbody>\n";
  for (int64_t row = 0; row < classes; ++row) {
    const auto counts = std::span(confusion.counts).subspan(size_t(row * classes), size_t(classes));
    const int64_t sum = std::reduce(counts.begin(), counts.end(), int64_t{0});
    StrAppend(&html, "<tr><th scope=\"row\">", HtmlText(ClassLabel(row, names)), "</th>");
    for (int64_t column = 0; column < classes; ++column) {
      html += Cell(counts[size_t(column)], sum, row == column);
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string MostFrequent(const Confusion& confusion, std::span<const std::string> names) {
  std::vector<int64_t> cells;
  for (int64_t cell = 0; cell < int64_t(confusion.counts.size()); ++cell) {
    const bool wrong = cell / confusion.classes != cell % confusion.classes;
    if (wrong && confusion.counts[size_t(cell)] > 0) cells.push_back(cell);
  }
  std::ranges::stable_sort(cells, std::greater(),
                           [&](int64_t cell) { return confusion.counts[size_t(cell)]; });
  cells.resize(std::min(cells.size(), kMostConfusions));
  HtmlTable table = {
      .caption = "The most frequent confusions",
      .columns = {"true class", "predicted", confusion.pixels ? "pixels" : "samples"}};
  for (const int64_t cell : cells) {
    table.rows.push_back({HtmlText(ClassLabel(cell / confusion.classes, names)),
                          HtmlText(ClassLabel(cell % confusion.classes, names)),
                          StrCat(confusion.counts[size_t(cell)])});
  }
  return FormatHtmlTable(table);
}

std::string IntersectionsOverUnion(const Confusion& confusion, std::span<const std::string> names) {
  const int64_t classes = confusion.classes;
  HtmlTable table = {.caption =
                         "Intersection over union: of the pixels that are truly or by "
                         "prediction of a class, the share of those that are both",
                     .columns = {"class", "pixels of it", "predicted", "IoU"}};
  double sum = 0;
  int64_t occurring = 0;
  for (int64_t i = 0; i < classes; ++i) {
    int64_t truly = 0, predicted = 0;
    for (int64_t j = 0; j < classes; ++j) {
      truly += confusion.counts[size_t(i * classes + j)];
      predicted += confusion.counts[size_t(j * classes + i)];
    }
    const double iou = confusion.IntersectionOverUnion(i);
    if (!std::isnan(iou)) {
      sum += iou;
      ++occurring;
    }
    table.rows.push_back({HtmlText(ClassLabel(i, names)), StrCat(truly), StrCat(predicted),
                          std::isnan(iou) ? "none" : absl::StrFormat("%.4f", iou)});
  }
  if (occurring > 0) {
    table.rows.push_back(
        {"mean of those that occur", "", "", absl::StrFormat("%.4f", sum / double(occurring))});
  }
  return FormatHtmlTable(table);
}

// Has counts for so many classes afterwards; false where these are too few or too many.
bool StartCounting(bool pixels, int64_t classes, Confusion& confusion) {
  if (classes < 2 || classes > kMostConfusionClasses) return false;
  if (confusion.classes != classes || confusion.pixels != pixels) {
    confusion = {.pixels = pixels,
                 .classes = classes,
                 .counts = std::vector<int64_t>(size_t(classes * classes))};
  }
  return true;
}

}  // namespace

int64_t Confusion::samples() const { return std::reduce(counts.begin(), counts.end(), int64_t{0}); }

int64_t Confusion::right() const {
  int64_t right = 0;
  for (int64_t i = 0; i < classes; ++i) right += counts[size_t(i * classes + i)];
  return right;
}

double Confusion::IntersectionOverUnion(int64_t index) const {
  int64_t either = -counts[size_t(index * classes + index)];
  for (int64_t i = 0; i < classes; ++i) {
    either += counts[size_t(index * classes + i)] + counts[size_t(i * classes + index)];
  }
  return double(counts[size_t(index * classes + index)]) / double(either);
}

void Count(const Tensor& predictions, const Tensor& targets, Confusion& confusion) {
  const int64_t classes = predictions.shape()[1];
  if (targets.dtype() != DType::kInt32 || !StartCounting(false, classes, confusion)) return;
  DispatchFloating(predictions.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < predictions.shape()[0]; ++i) {
      const T* p = predictions.data<T>() + i * predictions.RowPitch();
      const int64_t predicted = std::max_element(p, p + classes) - p;
      ++confusion.counts[size_t(targets.data<int32_t>()[i] * classes + predicted)];
    }
  });
}

void CountPixels(const Tensor& predictions, const Tensor& targets, TensorFormat format,
                 Confusion& confusion) {
  const ImageExtents image = ExtentsOf(predictions.shape().DropFirst(), format);
  const int64_t pixels = image.height * image.width, classes = image.channels;
  if (targets.dtype() != DType::kInt32 || !StartCounting(true, classes, confusion)) return;
  const bool planes = format == TensorFormat::kNCHW;
  const int64_t pixel_step = planes ? 1 : classes, class_step = planes ? pixels : 1;
  const int32_t* const labels = targets.data<int32_t>();
  DispatchFloating(predictions.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < predictions.shape()[0] * pixels; ++i) {
      if (labels[i] < 0) continue;
      const T* const p =
          predictions.data<T>() + i / pixels * pixels * classes + i % pixels * pixel_step;
      int64_t predicted = 0;
      for (int64_t c = 1; c < classes; ++c) {
        if (p[c * class_step] > p[predicted * class_step]) predicted = c;
      }
      ++confusion.counts[size_t(labels[i] * classes + predicted)];
    }
  });
}

std::string ClassLabel(int64_t index, std::span<const std::string> names) {
  if (index < 0 || index >= int64_t(names.size())) return StrCat(index);
  return StrCat(index, " (", names[size_t(index)], ")");
}

std::string FormatConfusion(const Confusion& confusion, std::span<const std::string> names) {
  const int64_t samples = confusion.samples(), right = confusion.right();
  std::string html =
      absl::StrFormat("<p>%d of %d %s were classified correctly (%.2f %%).</p>\n", right, samples,
                      confusion.pixels ? "labelled pixels" : "samples",
                      samples > 0 ? 100 * double(right) / double(samples) : 0);
  html += confusion.classes <= kMostOfMatrix ? Matrix(confusion, names)
                                             : MostFrequent(confusion, names);
  if (confusion.pixels) html += IntersectionsOverUnion(confusion, names);
  return html;
}

}  // namespace dtnn
