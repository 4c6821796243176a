#include "optim/metrics/multiclass_confusion_matrix.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_format.h"

namespace dtnn {
namespace {

int64_t ClassesOf(std::span<const double> sums) {
  return int64_t(std::llround(std::sqrt(double(sums.size()))));
}

std::string Matrix(std::span<const double> sums, int64_t classes) {
  const double most = *std::ranges::max_element(sums);
  const int width = int(absl::StrFormat("%.0f", most).size());
  std::string text;
  for (int64_t row = 0; row < classes; ++row) {
    text += row == 0 ? "[[" : " [";
    for (int64_t column = 0; column < classes; ++column) {
      absl::StrAppendFormat(&text, column == 0 ? "%*.0f" : " %*.0f", width,
                            sums[size_t(row * classes + column)]);
    }
    text += row == classes - 1 ? "]]\n" : "]\n";
  }
  return text;
}

std::string LargestConfusions(std::span<const double> sums, int64_t classes) {
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
  std::string text = " true  predicted  count\n";
  for (size_t i = 0; i < shown; ++i) {
    absl::StrAppendFormat(&text, "%5d  %9d  %5.0f\n", cells[i] / classes, cells[i] % classes,
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

std::string MulticlassConfusionMatrix::Report(std::string_view prefix,
                                              std::span<const double> sums) const {
  const int64_t classes = ClassesOf(sums);
  return absl::StrFormat("%s%s:\n", std::string(prefix), std::string(name())) +
         (classes <= 30 ? Matrix(sums, classes) : LargestConfusions(sums, classes));
}

}  // namespace dtnn
