#include "optim/metrics/multiclass_confusion_matrix.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_format.h"
#include "optim/metrics/label_names.h"

namespace dtnn {
namespace {

int64_t ClassesOf(std::span<const double> sums) {
  return int64_t(std::llround(std::sqrt(double(sums.size()))));
}

std::string Matrix(std::span<const double> sums, int64_t classes,
                   std::span<const std::string> class_names) {
  const bool named = int64_t(class_names.size()) == classes;
  const std::vector<std::string> names = LabelNames(classes, class_names);
  const double most = *std::ranges::max_element(sums);
  const int width = int(absl::StrFormat("%.0f", most).size());
  std::string text;
  for (int64_t row = 0; row < classes; ++row) {
    text += row == 0 ? "[[" : " [";
    for (int64_t column = 0; column < classes; ++column) {
      absl::StrAppendFormat(&text, column == 0 ? "%*.0f" : " %*.0f", width,
                            sums[size_t(row * classes + column)]);
    }
    text += row == classes - 1 ? "]]" : "]";
    if (named) text += (row == classes - 1 ? "  " : "   ") + names[size_t(row)];
    text += "\n";
  }
  return text;
}

std::string LargestConfusions(std::span<const double> sums, int64_t classes,
                              std::span<const std::string> class_names) {
  std::vector<int64_t> cells;
  for (int64_t cell = 0; cell < classes * classes; ++cell) {
    if (cell / classes != cell % classes && sums[size_t(cell)] > 0) cells.push_back(cell);
  }
  const size_t shown = std::min<size_t>(cells.size(), 20);
  std::partial_sort(cells.begin(), cells.begin() + int64_t(shown), cells.end(),
                    [&](int64_t a, int64_t b) {
                      const double count_a = sums[size_t(a)], count_b = sums[size_t(b)];
                      return count_a != count_b ? count_a > count_b : a < b;
                    });
  const std::vector<std::string> names = LabelNames(classes, class_names);
  std::vector<std::string> is = {"true"}, predicted = {"predicted"};
  for (size_t i = 0; i < shown; ++i) {
    is.push_back(names[size_t(cells[i] / classes)]);
    predicted.push_back(names[size_t(cells[i] % classes)]);
  }
  AlignRight(is, 5);
  AlignRight(predicted, 9);
  std::string text = absl::StrFormat("%s  %s  count\n", is[0], predicted[0]);
  for (size_t i = 0; i < shown; ++i) {
    absl::StrAppendFormat(&text, "%s  %s  %5.0f\n", is[i + 1], predicted[i + 1],
                          sums[size_t(cells[i])]);
  }
  return text;
}

}  // namespace

void MulticlassConfusionMatrix::Add(const Tensor& predictions, const Tensor& targets,
                                    std::span<double> sums) const {
  DispatchFloating(predictions.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const int64_t classes = predictions.shape()[1];
    for (int64_t i = 0; i < predictions.shape()[0]; ++i) {
      const T* p = predictions.data<T>() + i * predictions.RowPitch();
      const int64_t predicted = std::max_element(p, p + classes) - p;
      sums[size_t(targets.data<int32_t>()[i] * classes + predicted)] += 1;
    }
  });
}

double MulticlassConfusionMatrix::Value(std::span<const double> sums, int64_t samples) const {
  const int64_t classes = ClassesOf(sums);
  double right = 0;
  for (int64_t i = 0; i < classes; ++i) right += sums[size_t(i * classes + i)];
  return right / double(samples);
}

std::string MulticlassConfusionMatrix::Report(std::string_view prefix, std::span<const double> sums,
                                              std::span<const std::string> class_names) const {
  const int64_t classes = ClassesOf(sums);
  return absl::StrFormat("%s%s:\n", std::string(prefix), std::string(name())) +
         (classes <= 30 ? Matrix(sums, classes, class_names)
                        : LargestConfusions(sums, classes, class_names));
}

}  // namespace dtnn
