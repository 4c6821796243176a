#include "models/weights.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr std::string_view kFormatTag = "__format__", kModelTag = "__model__",
                           kDTypeTag = "__dtype__";

// A parameter of the graph and the file's array for it.
struct Item {
  size_t node = 0, parameter = 0;
  std::string key;
  Tensor array;
};

// How a file is laid out, and who says so.
struct Decision {
  WeightsLayout layout = WeightsLayout::kNHWC;
  std::string_view reason;
};

const ParameterSpec& SpecOf(const Graph& graph, const Item& item) {
  return graph.nodes()[item.node].parameters[item.parameter];
}

// "\"1_Conv2D_weights\", \"1_Conv2D_biases\" and 5 more".
std::string List(const std::vector<std::string>& keys) {
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(keys.size(), 3); ++i) {
    absl::StrAppend(&text, i == 0 ? "\"" : ", \"", keys[i], "\"");
  }
  if (keys.size() > 3) absl::StrAppend(&text, " and ", keys.size() - 3, " more");
  return text;
}

// A bias or statistic as the GPU code wrote it: (1, C, 1, 1).
bool IsGpuVector(const Shape& shape, const Shape& wanted) {
  return wanted.rank() == 1 && shape == Shape{1, wanted[0], 1, 1};
}

bool Fits(const Shape& shape, const ParameterSpec& spec, TensorFormat format,
          WeightsLayout layout) {
  return shape == ShapeInFile(spec, format, layout) || IsGpuVector(shape, spec.shape);
}

absl::StatusOr<std::vector<Item>> ReadItems(ArrayFileReader& file, const Graph& graph, bool partial,
                                            LoadedWeights* loaded) {
  std::vector<Item> items;
  std::vector<std::string> missing, extra;
  std::set<std::string, std::less<>> known;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    for (size_t p = 0; p < node.parameters.size(); ++p) {
      std::string key = Graph::WeightKey(node, node.parameters[p]);
      const bool there = file.Contains(key);
      known.insert(key);
      if (!there) missing.push_back(key);
      if (there) items.push_back({.node = n, .parameter = p, .key = std::move(key), .array = {}});
    }
  }
  if (file.Contains("layers") && items.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        file.file(),
        ": holds its layers as one list of pickled Python objects, which is never "
        "loaded, because loading it can run any program. Save one array per parameter, "
        "such as ",
        List(missing)));
  }
  if (!missing.empty()) {
    const std::string text = absl::StrCat(file.file(), ": has no ", List(missing), ", which model ",
                                          graph.name(), " needs");
    if (!partial || items.empty()) {
      return absl::NotFoundError(
          absl::StrCat(text, items.empty() ? "; it holds none of the model's parameters" : ""));
    }
    loaded->warnings.push_back(absl::StrCat(text, ": they keep their values"));
  }
  for (const std::string& name : file.names()) {
    if (!known.contains(name) && !name.starts_with("__")) extra.push_back(name);
  }
  if (!extra.empty()) {
    loaded->warnings.push_back(absl::StrCat(file.file(), ": holds ", List(extra), ", which model ",
                                            graph.name(), " does not have"));
  }
  for (Item& item : items) {
    DTNN_ASSIGN_OR_RETURN(item.array, file.Read(item.key));
  }
  return items;
}

// The layouts that a file without tags may have, the likeliest first.
std::vector<WeightsLayout> Candidates(const Graph& graph, const std::vector<Item>& items,
                                      WeightsFormat option) {
  const bool gpu = std::ranges::any_of(items, [&](const Item& item) {
    return IsGpuVector(item.array.shape(), SpecOf(graph, item).shape);
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
WeightsLayout ByShapes(const Graph& graph, const std::vector<Item>& items,
                       const std::vector<WeightsLayout>& candidates) {
  return *std::ranges::max_element(candidates, {}, [&](WeightsLayout layout) {
    return std::ranges::count_if(items, [&](const Item& item) {
      return Fits(item.array.shape(), SpecOf(graph, item), graph.format(), layout);
    });
  });
}

absl::StatusOr<Decision> Decide(ArrayFileReader& file, const Graph& graph,
                                const std::vector<Item>& items, WeightsFormat option,
                                LoadedWeights* loaded) {
  DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> tag, file.Text(kFormatTag));
  if (tag.has_value()) {
    const std::optional<TensorFormat> format = ParseTensorFormat(*tag);
    if (!format.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(file.file(), ": its tag __format__ is \"",
                                                     *tag, "\", neither NHWC nor NCHW"));
    }
    const WeightsFormat said =
        *format == TensorFormat::kNHWC ? WeightsFormat::kNHWC : WeightsFormat::kNCHW;
    if (option != WeightsFormat::kAuto && option != said) {
      loaded->warnings.push_back(
          absl::StrCat(file.file(), ": is tagged as ", *tag,
                       "; --weights-format is for files without tags and changes nothing"));
    }
    return Decision{LayoutOf(*format), "as its tag says"};
  }
  return Decision{
      ByShapes(graph, items, Candidates(graph, items, option)),
      option == WeightsFormat::kAuto ? "as its shapes say" : "as --weights-format says"};
}

absl::Status CheckShape(const std::string& file, const Graph& graph, const Item& item,
                        const Decision& decision) {
  const Node& node = graph.nodes()[item.node];
  const ParameterSpec& spec = SpecOf(graph, item);
  const Shape& shape = item.array.shape();
  if (Fits(shape, spec, graph.format(), decision.layout)) return absl::OkStatus();
  const bool layout_matters = spec.layout == ParameterLayout::kFilter;
  return absl::InvalidArgumentError(absl::StrCat(
      file, ": \"", item.key, "\" of layer ", node.id, " (", std::string(node.layer->type_name()),
      ") has shape ", shape.ToString(), ", but model ", graph.name(), " needs ",
      ShapeInFile(spec, graph.format(), decision.layout).ToString(),
      layout_matters ? absl::StrCat(" in a file of layout ", std::string(Name(decision.layout)),
                                    " (", std::string(decision.reason), ")")
                     : ""));
}

absl::StatusOr<ImageExtents> OriginFor(const std::string& file, const Graph& graph,
                                       const Item& item, WeightsLayout layout,
                                       const std::vector<std::optional<ImageExtents>>& origins) {
  const Node& node = graph.nodes()[item.node];
  if (!NeedsFeatureOrigin(SpecOf(graph, item), graph.format(), layout)) return ImageExtents{};
  const std::optional<ImageExtents>& origin = origins[size_t(node.inputs[0])];
  if (origin.has_value()) return *origin;
  return absl::UnimplementedError(absl::StrCat(
      file, ": \"", item.key, "\" cannot be brought from ", std::string(Name(layout)),
      " into the model's ", std::string(Name(graph.format())), ": layer ", node.id, " (",
      std::string(node.layer->type_name()),
      ") takes features of several orders in one vector. Run the model in the file's format"));
}

}  // namespace

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
  StagedWeights staged;
  LoadedWeights& loaded = staged.loaded_;
  DTNN_ASSIGN_OR_RETURN(const std::vector<Item> items,
                        ReadItems(file, graph, options.partial, &loaded));
  DTNN_ASSIGN_OR_RETURN(const Decision decision,
                        Decide(file, graph, items, options.format, &loaded));
  DTNN_ASSIGN_OR_RETURN(const std::optional<std::string> model, file.Text(kModelTag));
  if (model.has_value() && *model != graph.name()) {
    loaded.warnings.push_back(
        absl::StrCat(file.file(), ": is tagged as of model ", *model, ", not of ", graph.name()));
  }
  loaded.parameters = int64_t(items.size());
  loaded.layout = decision.layout;

  const Tensor& values = store.all_values();
  DTNN_ASSIGN_OR_RETURN(staged.values_,
                        Tensor::Allocate(Device::Cpu(), values.dtype(), values.shape()));
  DTNN_RETURN_IF_ERROR(context.Copy(values, staged.values_));
  DTNN_RETURN_IF_ERROR(context.Synchronize());
  const std::vector<std::optional<ImageExtents>> origins = FeatureOrigins(graph);
  for (const Item& item : items) {
    DTNN_RETURN_IF_ERROR(CheckShape(file.file(), graph, item, decision));
    DTNN_ASSIGN_OR_RETURN(const ImageExtents origin,
                          OriginFor(file.file(), graph, item, decision.layout, origins));
    ConvertParameter(SpecOf(graph, item), item.array, decision.layout,
                     store.Slice(staged.values_, int(item.node), int(item.parameter)),
                     graph.format(), origin);
  }
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

absl::StatusOr<NamedTensors> NamedParameters(const Graph& graph, const ParameterStore& store,
                                             DeviceContext& context) {
  const Tensor& values = store.all_values();
  DTNN_ASSIGN_OR_RETURN(Tensor copy,
                        Tensor::Allocate(Device::Cpu(), values.dtype(), values.shape()));
  DTNN_RETURN_IF_ERROR(context.Copy(values, copy));
  DTNN_RETURN_IF_ERROR(context.Synchronize());
  NamedTensors tensors;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    for (size_t p = 0; p < node.parameters.size(); ++p) {
      tensors.emplace_back(Graph::WeightKey(node, node.parameters[p]),
                           store.Slice(copy, int(n), int(p)));
    }
  }
  return tensors;
}

NamedTexts WeightTags(const Graph& graph, const ParameterStore& store) {
  return {{std::string(kFormatTag), std::string(Name(graph.format()))},
          {std::string(kModelTag), graph.name()},
          {std::string(kDTypeTag), std::string(Name(store.dtype()))}};
}

absl::Status SaveWeights(std::string_view path, const Graph& graph, const ParameterStore& store,
                         DeviceContext& context) {
  DTNN_RETURN_IF_ERROR(CheckArrayFileName(path));
  DTNN_ASSIGN_OR_RETURN(const NamedTensors tensors, NamedParameters(graph, store, context));
  return WriteArrayFile(path, tensors, WeightTags(graph, store));
}

}  // namespace dtnn
