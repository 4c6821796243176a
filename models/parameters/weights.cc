#include "models/parameters/weights.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "models/parameters/parameter_arrays.h"
#include "tensor/errors.h"
#include "tensor/files/output_file.h"

namespace dtnn {
namespace {

constexpr std::string_view kFormatTag = "__format__", kModelTag = "__model__",
                           kDTypeTag = "__dtype__";

// How a file is laid out, and who says so.
struct Decision {
  WeightsLayout layout = WeightsLayout::kNHWC;
  std::string_view reason;
};

// As PyTorch calls the parameters of a module: "layer1.0.conv1.weight".
bool IsTorchParameter(std::string_view name) {
  return name.ends_with(".weight") || name.ends_with(".bias") || name.ends_with(".running_mean");
}

absl::StatusOr<std::vector<ParameterArray>> FindItems(ArrayFileReader& file, const Graph& graph,
                                                      bool partial, LoadedWeights* loaded) {
  std::vector<ParameterArray> items = ParameterArrays(graph, {});
  std::vector<std::string> missing, extra;
  std::set<std::string, std::less<>> known;
  for (const ParameterArray& item : items) {
    known.insert(item.key);
    if (!file.Contains(item.key)) missing.push_back(item.key);
  }
  std::erase_if(items, [&](const ParameterArray& item) { return !file.Contains(item.key); });
  if (file.Contains("layers") && items.empty()) {
    return InvalidArgument(
        file.file(),
        ": contains its layers as one list of pickled Python objects. These are "
        "never loaded, because loading them can run any program. Save one array per "
        "parameter, such as ",
        ListKeys(missing));
  }
  if (!missing.empty()) {
    const std::string text = StrCat(file.file(), ": has no ", ListKeys(missing), ", which model ",
                                    graph.name(), " needs");
    if (items.empty()) {
      return HasTorchNames(file) ? NotFound(text, "; it has ", kTorchNamesAdvice)
                                 : NotFound(text, "; it contains none of the model's parameters");
    }
    if (!partial) return NotFound(text);
    loaded->warnings.push_back(StrCat(text, "; these keep their values"));
  }
  for (const std::string& name : file.names()) {
    if (!known.contains(name) && !name.starts_with("__")) extra.push_back(name);
  }
  if (!extra.empty()) {
    loaded->warnings.push_back(StrCat(file.file(), ": contains ", ListKeys(extra), ", which model ",
                                      graph.name(), " does not have"));
  }
  DTNN_RETURN_IF_ERROR(ReadShapes(file, items));
  return items;
}

// Leaves out, with a warning each, the parameters that the file has in another shape.
absl::Status SkipMisfits(const std::string& file, const Graph& graph, WeightsLayout layout,
                         std::vector<ParameterArray>& items, LoadedWeights* loaded) {
  constexpr size_t kMostTold = 8;
  std::vector<std::string> misfits;
  std::erase_if(items, [&](const ParameterArray& item) {
    if (ShapeFits(item, graph, layout)) return false;
    misfits.push_back(DescribeMisfit(item, graph, layout));
    return true;
  });
  if (misfits.empty()) return absl::OkStatus();
  if (items.empty()) {
    return InvalidArgument(file,
                           ": none of its arrays has the shape that the model needs; the first, ",
                           misfits.front());
  }
  for (size_t i = 0; i < std::min(misfits.size(), kMostTold); ++i) {
    loaded->warnings.push_back(
        StrCat(file, ": ", misfits[i], ": the parameter keeps its initial values"));
  }
  if (misfits.size() > kMostTold) {
    loaded->warnings.push_back(
        StrCat(file, ": ", misfits.size() - kMostTold,
               " more parameters have other shapes there and keep their values"));
  }
  return absl::OkStatus();
}

// The layouts that a file without tags may have, the likeliest first.
std::vector<WeightsLayout> Candidates(const Graph& graph, const std::vector<ParameterArray>& items,
                                      WeightsFormat option) {
  const bool gpu = std::ranges::any_of(items, [&](const ParameterArray& item) {
    return item.shape.rank() == 4 && item.spec(graph).shape.rank() == 1;
  });
  std::vector<WeightsLayout> layouts = {WeightsLayout::kNHWC, WeightsLayout::kGpuNHWC};
  if (gpu) std::swap(layouts[0], layouts[1]);
  if (option == WeightsFormat::kNHWC) return layouts;
  if (option == WeightsFormat::kNCHW) return {WeightsLayout::kNCHW};
  const bool nchw = graph.format() == TensorFormat::kNCHW;
  layouts.insert(nchw ? layouts.begin() : layouts.end(), WeightsLayout::kNCHW);
  return layouts;
}

// The one that most shapes fit; the likeliest of several.
WeightsLayout ByShapes(const Graph& graph, const std::vector<ParameterArray>& items,
                       const std::vector<WeightsLayout>& candidates) {
  return *std::ranges::max_element(candidates, {}, [&](WeightsLayout layout) {
    return std::ranges::count_if(
        items, [&](const ParameterArray& item) { return ShapeFits(item, graph, layout); });
  });
}

absl::StatusOr<Decision> Decide(ArrayFileReader& file, const Graph& graph,
                                const std::vector<ParameterArray>& items, WeightsFormat option,
                                LoadedWeights* loaded) {
  DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> tag, file.Text(kFormatTag));
  if (tag.has_value()) {
    const std::optional<TensorFormat> format = ParseTensorFormat(*tag);
    if (!format.has_value()) {
      return InvalidArgument(file.file(), ": its tag __format__ is ", Quoted(*tag),
                             "; expected NHWC or NCHW");
    }
    const WeightsFormat said =
        *format == TensorFormat::kNHWC ? WeightsFormat::kNHWC : WeightsFormat::kNCHW;
    if (option != WeightsFormat::kAuto && option != said) {
      loaded->warnings.push_back(
          StrCat(file.file(), ": is tagged as ", *tag,
                 "; the layout that was given is for files without tags and is ignored"));
    }
    return Decision{LayoutOf(*format), "as its tag says"};
  }
  return Decision{
      ByShapes(graph, items, Candidates(graph, items, option)),
      option == WeightsFormat::kAuto ? "as its shapes say" : "as the layout that was given says"};
}

}  // namespace

bool HasTorchNames(const ArrayFileReader& file) {
  return std::ranges::any_of(file.names(), IsTorchParameter);
}

std::optional<WeightsFormat> ParseWeightsFormat(std::string_view name) {
  const std::pair<const char*, WeightsFormat> kWords[] = {{"auto", WeightsFormat::kAuto},
                                                          {"nhwc", WeightsFormat::kNHWC},
                                                          {"nchw", WeightsFormat::kNCHW}};
  for (const auto& [word, format] : kWords) {
    if (absl::EqualsIgnoreCase({name.data(), name.size()}, word)) return format;
  }
  return std::nullopt;
}

absl::StatusOr<StagedWeights> StagedWeights::Read(ArrayFileReader& file, const Graph& graph,
                                                  const ParameterStore& store,
                                                  DeviceContext& context,
                                                  const LoadWeightsOptions& options) {
  DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> model, file.Text(kModelTag));
  absl::StatusOr<StagedWeights> staged = ReadArrays(file, graph, store, context, options);
  const bool other = model.has_value() && *model != graph.name();
  if (!other || staged.ok()) return staged;
  return absl::Status(staged.status().code(),
                      StrCat(staged.status().message(),
                             "; its tag says that it is a file of model ", Quoted(*model)));
}

absl::StatusOr<StagedWeights> StagedWeights::ReadArrays(ArrayFileReader& file, const Graph& graph,
                                                        const ParameterStore& store,
                                                        DeviceContext& context,
                                                        const LoadWeightsOptions& options) {
  StagedWeights staged;
  LoadedWeights& loaded = staged.loaded_;
  DTNN_ASSIGN_OR_RETURN(std::vector<ParameterArray> items,
                        FindItems(file, graph, options.partial, &loaded));
  DTNN_ASSIGN_OR_RETURN(const Decision decision,
                        Decide(file, graph, items, options.format, &loaded));
  if (options.partial) {
    DTNN_RETURN_IF_ERROR(SkipMisfits(file.file(), graph, decision.layout, items, &loaded));
  }
  DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> model, file.Text(kModelTag));
  if (model.has_value() && *model != graph.name()) {
    loaded.warnings.push_back(StrCat(file.file(), ": its tag says that it belongs to model ",
                                     Quoted(*model), ", not to ", graph.name()));
  }
  DTNN_ASSIGN_OR_RETURN(loaded.preprocessing, file.Text(kPreprocessingTag));
  loaded.parameters = int64_t(items.size());
  loaded.wanted = int64_t(ParameterArrays(graph, {}).size());
  loaded.layout = decision.layout;

  const Tensor& values = store.all_values();
  DTNN_ASSIGN_OR_RETURN(staged.values_,
                        Tensor::Allocate(Device::Cpu(), values.dtype(), values.shape()));
  DTNN_RETURN_IF_ERROR(context.Copy(values, staged.values_));
  DTNN_RETURN_IF_ERROR(context.Synchronize());
  DTNN_RETURN_IF_ERROR(
      PlaceArrays(items, file, graph, store, decision.layout, decision.reason, staged.values_));
  DTNN_RETURN_IF_ERROR(CheckFinite(items, file.file(), graph, store, staged.values_));
  return staged;
}

absl::Status StagedWeights::Apply(ParameterStore& store, DeviceContext& context) const {
  DTNN_RETURN_IF_ERROR(context.Copy(values_, store.all_values()));
  DTNN_RETURN_IF_ERROR(context.Synchronize());
  store.MarkChanged();
  return absl::OkStatus();
}

absl::StatusOr<LoadedWeights> LoadWeights(std::string_view path, const Graph& graph,
                                          ParameterStore& store, DeviceContext& context,
                                          const LoadWeightsOptions& options) {
  DTNN_ASSIGN_OR_RETURN(ArrayFileReader file, ArrayFileReader::Open(path));
  DTNN_ASSIGN_OR_RETURN(const StagedWeights staged,
                        StagedWeights::Read(file, graph, store, context, options));
  DTNN_RETURN_IF_ERROR(staged.Apply(store, context));
  return staged.loaded();
}

NamedTexts WeightTags(const Graph& graph, const ParameterStore& store, const NamedTexts& more) {
  NamedTexts tags = {{std::string(kFormatTag), std::string(Name(graph.format()))},
                     {std::string(kModelTag), graph.name()},
                     {std::string(kDTypeTag), std::string(Name(store.dtype()))}};
  tags.insert(tags.end(), more.begin(), more.end());
  return tags;
}

absl::Status SaveWeights(std::string_view path, const Graph& graph, const ParameterStore& store,
                         DeviceContext& context, const Tensor& values, const NamedTexts& tags) {
  DTNN_RETURN_IF_ERROR(CheckArrayFileName(path));
  const Tensor& arena = values.empty() ? store.all_values() : values;
  DTNN_ASSIGN_OR_RETURN(const NamedTensors tensors, NameArena(graph, store, context, arena, {}));
  return WriteArrayFile(path, tensors, WeightTags(graph, store, tags));
}

absl::Status CheckWeightsOutput(std::string_view path) {
  DTNN_RETURN_IF_ERROR(CheckArrayFileName(path));
  return CheckOutputFile(path, "a model", [path](std::string_view) {
    absl::StatusOr<ArrayFileReader> file = ArrayFileReader::Open(path);
    if (!file.ok()) return false;
    const absl::StatusOr<std::optional<std::string>> tag = file->Text(kModelTag);
    return tag.ok() && tag->has_value();
  });
}

}  // namespace dtnn
