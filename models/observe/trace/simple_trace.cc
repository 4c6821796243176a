#include "models/observe/trace/simple_trace.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <numeric>
#include <string_view>

#include "absl/strings/str_format.h"
#include "models/observe/trace/model_events.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// In the original's order, from 1.
constexpr std::string_view kOperationKinds[] = {
    "allreduce_dw",
    "backward_convgemm",
    "backward_cublas_matmul_dw",
    "backward_cublas_matmul_dx",
    "backward_cublas_matvec_db",
    "backward_cudnn_db",
    "backward_cudnn_dw",
    "backward_cudnn_dx",
    "backward_deconv_gemm",
    "backward_eltw_sum",
    "backward_im2col",
    "backward_reshape_dw",
    "backward_reshape_dx",
    "backward_split",
    "backward_sum_biases",
    "backward_transpose_dy",
    "backward_transpose_w",
    "comp_dw_matmul",
    "comp_dx_col2im",
    "comp_dx_matmul",
    "forward_depthwise_conv",
    "forward_pointwise_conv",
    "forward_concat",
    "forward_convgemm",
    "forward_convwinograd",
    "forward_convdirect",
    "forward_cublas_matmul",
    "forward_cudnn",
    "forward_cudnn_sum_biases",
    "forward_eltw_sum",
    "forward_im2col",
    "forward_matmul",
    "forward_replicate",
    "forward_reshape_w",
    "forward_reshape_y",
    "forward_sum_biases",
    "forward_transpose_y",
};
constexpr int kOperations = int(std::size(kOperationKinds));
static_assert(kOperations == 37);

bool Holds(std::string_view text, std::string_view word) { return text.find(word) != text.npos; }

// The operation that a layer's pass is, by the original's names; empty: none of them.
std::string_view ForwardOperation(const LayerFacts& layer) {
  if (layer.type == "FC") return "forward_matmul";
  if (layer.type.starts_with("AdditionBlock")) return "forward_eltw_sum";
  if (layer.type.starts_with("ConcatenationBlock")) return "forward_concat";
  if (layer.type != "Conv2D") return "";
  const std::string_view all = layer.algorithms;
  const std::string_view forward = all.substr(0, all.find(','));
  if (Holds(forward, "winograd")) return "forward_convwinograd";
  if (Holds(forward, "i2c")) return "forward_im2col";
  if (Holds(forward, "depthwise")) return "forward_depthwise_conv";
  if (Holds(forward, "direct")) return "forward_convdirect";
  if (Holds(forward, "pointwise")) return "forward_pointwise_conv";
  return Holds(forward, "gemm") ? "forward_convgemm" : "";
}

std::string_view BackwardOperation(const LayerFacts& layer) {
  if (layer.type.starts_with("AdditionBlock")) return "backward_eltw_sum";
  if (layer.type.starts_with("ConcatenationBlock")) return "backward_split";
  const size_t backward = layer.algorithms.find("backward");
  const bool gemm = backward != layer.algorithms.npos &&
                    Holds(std::string_view(layer.algorithms).substr(backward), "gemm");
  return layer.type == "Conv2D" && gemm ? "backward_convgemm" : "";
}

std::string_view OperationOf(const LayerFacts& layer, int kind) {
  switch (kind) {
    case kForward:
      return ForwardOperation(layer);
    case kBackward:
      return BackwardOperation(layer);
    case kAllReduceDw:
      return "allreduce_dw";
    default:
      return "";
  }
}

// As Python prints it.
std::string Number(double value) {
  char buffer[400];
  const bool fixed = value == 0 || (value >= 1e-4 && value < 1e16);
  const auto format = fixed ? std::chars_format::fixed : std::chars_format::scientific;
  std::string text(buffer, std::to_chars(buffer, std::end(buffer), value, format).ptr);
  if (fixed && text.find('.') == text.npos) text += ".0";
  return text;
}

}  // namespace

SimpleTrace::SimpleTrace(std::span<const LayerFacts> layers, const SimpleTraceOptions& options)
    : layers_(layers.begin(), layers.end()),
      room_(options.most_times),
      times_(std::make_unique_for_overwrite<Time[]>(size_t(room_))),
      begins_(options.keep_begins ? std::make_unique_for_overwrite<int64_t[]>(size_t(room_))
                                  : nullptr) {
  for (const LayerFacts& layer : layers_) ids_ = std::max(ids_, layer.id + 1);
  series_.resize(size_t(ids_ * kModelKinds));
}

void SimpleTrace::End(const Event& event) {
  const ModelKind kind = ModelKindOf(event.activity);
  if (kind == kNoModelKind || std::this_thread::get_id() != owner_) return;
  const int id = ModelLayerOf(event, layers_);
  if (id < 0 || id >= ids_) return;
  const int index = id * kModelKinds + kind - 1;
  Series& series = series_[size_t(index)];
  ++series.calls;
  series.nanoseconds += event.end - event.begin;
  if (used_ == room_) {
    ++dropped_;
    return;
  }
  if (begins_ != nullptr) begins_[size_t(used_)] = event.begin;
  times_[size_t(used_++)] = {index, event.end - event.begin};
}

void SimpleTrace::AddEnergy(const MeasuredEnergy& energy, std::vector<Row>& rows) const {
  for (Row& row : rows) row.joules.resize(size_t(energy.lines));
  std::vector<double> joules(static_cast<size_t>(energy.lines));
  for (size_t i = 0; begins_ != nullptr && i < size_t(used_); ++i) {
    const auto samples = energy.of(begins_[i], begins_[i] + times_[i].nanoseconds, joules);
    if (!samples) continue;
    Row& row = rows[size_t(times_[i].series)];
    for (size_t line = 0; line < joules.size(); ++line) row.joules[line] += joules[line];
    ++row.measured;
    row.samples += *samples;
  }
}

std::vector<SimpleTrace::Row> SimpleTrace::Rows(const MeasuredEnergy* energy) const {
  std::vector<std::vector<int64_t>> times(series_.size());
  for (int64_t i = 0; i < used_; ++i) {
    times[size_t(times_[size_t(i)].series)].push_back(times_[size_t(i)].nanoseconds);
  }
  std::vector<Row> rows(series_.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].sums = series_[i];
    if (times[i].empty()) continue;
    const auto middle = times[i].begin() + int64_t(times[i].size() / 2);
    std::ranges::nth_element(times[i], middle);
    rows[i].median = double(*middle) / 1e9;
  }
  if (energy != nullptr) AddEnergy(*energy, rows);
  return rows;
}

std::string SimpleTrace::Text(std::span<const LayerFacts> layers,
                              const MeasuredEnergy* energy) const {
  const std::vector<Row> rows = Rows(energy);
  std::vector<const LayerFacts*> by_id(size_t(ids_), nullptr);
  for (const LayerFacts& layer : layers) {
    if (layer.id >= 0 && layer.id < ids_) by_id[size_t(layer.id)] = &layer;
  }
  const int digits = int(StrCat(ids_ - 1).size());
  std::string model;
  std::map<int, std::string> operations;  // by value
  for (int index = 0; index < int(rows.size()); ++index) {
    const int id = index / kModelKinds, kind = index % kModelKinds + 1;
    const Row& row = rows[size_t(index)];
    const LayerFacts* const layer = by_id[size_t(id)];
    if (row.sums.calls == 0 || layer == nullptr) continue;
    std::string numbers = StrCat(row.sums.calls, ";", Number(double(row.sums.nanoseconds) / 1e9),
                                 ";", Number(row.median));
    if (energy != nullptr) {
      StrAppend(&numbers, ";", Number(std::reduce(row.joules.begin(), row.joules.end(), 0.0)));
      for (const double joules : row.joules) StrAppend(&numbers, ";", Number(joules));
      StrAppend(&numbers, ";",
                Number(row.measured > 0 ? double(row.samples) / double(row.measured) : 0));
    }
    numbers += "\n";
    absl::StrAppendFormat(&model, "Model;%d;%0*d_%s_%s;%s", id * kModelKinds + kind, digits, id,
                          layer->type, std::string(Name(ModelKind(kind))), numbers);
    const std::string_view operation = OperationOf(*layer, kind);
    if (operation.empty()) continue;
    const auto number = std::ranges::find(kOperationKinds, operation) - kOperationKinds + 1;
    const int value = id * kOperations + int(number);
    operations[value] = absl::StrFormat("Operations;%d;%03d_%s_%s;%s", value, id, layer->type,
                                        std::string(operation), numbers);
  }
  std::string text = "Event type;Event value;Event name;Calls;Total time;Median of times";
  if (energy != nullptr) {
    text += ";Joules";
    for (int64_t line = 0; line < energy->lines; ++line) StrAppend(&text, ";Line", line);
    text += ";Mean of intermediate power samples";
  }
  text += "\n" + model;
  for (const auto& [value, line] : operations) text += line;
  return text;
}

}  // namespace dtnn
