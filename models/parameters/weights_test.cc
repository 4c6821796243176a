#include "models/parameters/weights.h"

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/parameters/parameter_arrays.h"
#include "models/plan/plan.h"
#include "models/zoo/zoo.h"
#include "tensor/files/npz.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;
using ::dtnn::testing::Close;
using ::dtnn::testing::RandomTensor;
using ::dtnn::testing::Values;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr TensorFormat kFormats[] = {TensorFormat::kNHWC, TensorFormat::kNCHW};
constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat64};
constexpr ImageExtents kSample = {6, 4, 3};

Graph SimpleCnn8(TensorFormat format) {
  return *BuildModel("simplecnn8", {.format = format, .sample = kSample, .classes = 5});
}

// Every kind of parameter there is, and a flattened vector with a batch normalisation of its own.
Graph Mixture(TensorFormat format) {
  GraphBuilder b("mixture", format);
  b.Input(kSample).Conv2d(5, {.padding = 1}).BatchNorm().Relu();
  b.Conv2d(0, {.padding = 1, .grouping = ConvGrouping::kDepthwise});
  b.Conv2d(4, {.bias = false, .grouping = ConvGrouping::kPointwise});
  b.Flatten().BatchNorm().Dropout(0.5).Fc(7).Relu().Fc(3).Softmax();
  return *b.Build();
}

// `x` (n, height, width, channels) in the format.
Tensor InFormat(const Tensor& x, TensorFormat format) {
  if (format == TensorFormat::kNHWC) return x;
  const Shape& s = x.shape();
  const Tensor y = testing::ZeroTensor(x.dtype(), {s[0], s[3], s[1], s[2]});
  DispatchFloating(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* out = y.data<T>();
    for (int64_t n = 0; n < s[0]; ++n) {
      for (int64_t c = 0; c < s[3]; ++c) {
        for (int64_t p = 0; p < s[1] * s[2]; ++p) {
          *out++ = x.data<T>()[(n * s[1] * s[2] + p) * s[3] + c];
        }
      }
    }
  });
  return y;
}

class WeightsTest : public ::testing::Test {
 protected:
  WeightsTest() {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    npz_ = folder_ / "x.npz";
  }
  ~WeightsTest() override { fs::remove_all(folder_); }

  std::unique_ptr<ParameterStore> Store(const Graph& graph, uint64_t seed,
                                        DType dtype = DType::kFloat64) {
    auto store = *ParameterStore::Create(graph, *device_, dtype, seed);
    // Biases and statistics of their own, all of them positive as variances must be.
    for (size_t n = 0; n < graph.nodes().size(); ++n) {
      for (size_t p = 0; p < graph.nodes()[n].parameters.size(); ++p) {
        const Tensor value = store->Value(int(n), int(p));
        if (value.shape().rank() > 1) continue;
        const Tensor noise = RandomTensor(dtype, value.shape(), seed * 100 + n * 10 + p);
        DispatchFloating(dtype, [&](auto zero) {
          using T = decltype(zero);
          for (int64_t i = 0; i < value.num_elements(); ++i) {
            value.data<T>()[i] += T(0.25) * (noise.data<T>()[i] + 1);
          }
        });
      }
    }
    return store;
  }

  std::vector<double> Predict(const Graph& graph, ParameterStore& store, const Tensor& x) {
    auto plan = Plan::Compile(graph, store, *device_, {.batch = x.shape()[0]});
    EXPECT_TRUE(plan.ok()) << plan.status();
    if (!plan.ok()) return {};
    EXPECT_TRUE((*plan)->Forward(InFormat(x, graph.format())).ok());
    return Values((*plan)->predictions());
  }

  // The arrays of the parameters, as a file of ours would hold them.
  NamedTensors Arrays(const Graph& graph, const ParameterStore& store) {
    return *NameArena(graph, store, *device_, store.all_values(), {});
  }

  absl::StatusOr<LoadedWeights> Load(const Graph& graph, ParameterStore& store,
                                     const LoadWeightsOptions& options = {}) {
    return LoadWeights(npz_, graph, store, *device_, options);
  }
  // Loads and expects an error that leaves everything as it was.
  std::string ErrorOf(const Graph& graph, const LoadWeightsOptions& options = {}) {
    auto store = Store(graph, 9);
    const std::vector<double> before = Values(store->all_values());
    const uint64_t version = store->version();
    const absl::StatusOr<LoadedWeights> loaded = Load(graph, *store, options);
    EXPECT_FALSE(loaded.ok());
    EXPECT_EQ(Values(store->all_values()), before);
    EXPECT_EQ(store->version(), version);
    return std::string(loaded.status().message());
  }

  std::unique_ptr<DeviceContext> device_ = *DeviceContext::Create(Device::Cpu());
  fs::path folder_;
  std::string npz_;
};

// An average of the parameters, say.
TEST_F(WeightsTest, OtherValuesThanTheStoresAreSavedWhereTheyAreGiven) {
  const Graph graph = Mixture(TensorFormat::kNCHW);
  const auto store = Store(graph, 1), average = Store(graph, 2), loaded = Store(graph, 3);
  ASSERT_TRUE(SaveWeights(npz_, graph, *store, *device_, average->all_values()).ok());
  ASSERT_TRUE(LoadWeights(npz_, graph, *loaded, *device_).ok());
  EXPECT_EQ(Values(loaded->all_values()), Values(average->all_values()));
  EXPECT_NE(Values(loaded->all_values()), Values(store->all_values()));
}

TEST_F(WeightsTest, EverythingComesBackInBothFileFormatsFormatsAndDTypes) {
  for (const char* file : {"x.npz", "x.safetensors"}) {
    for (const TensorFormat format : kFormats) {
      for (const DType dtype : kDTypes) {
        const std::string path = folder_ / file;
        const Graph graph = Mixture(format);
        auto saved = Store(graph, 1, dtype);
        const absl::Status status = SaveWeights(path, graph, *saved, *device_);
        ASSERT_TRUE(status.ok()) << status;
        auto store = Store(graph, 2, dtype);
        const uint64_t version = store->version();
        const absl::StatusOr<LoadedWeights> loaded = LoadWeights(path, graph, *store, *device_);
        ASSERT_TRUE(loaded.ok()) << loaded.status();
        EXPECT_EQ(Values(store->all_values()), Values(saved->all_values()));
        EXPECT_GT(store->version(), version);
        EXPECT_EQ(loaded->parameters, 2 + 4 + 2 + 1 + 4 + 2 + 2);
        EXPECT_EQ(loaded->layout, LayoutOf(format));
        EXPECT_THAT(loaded->warnings, IsEmpty());
      }
    }
  }
}

TEST_F(WeightsTest, NaNAndInfinityAreRefusedByName) {
  const Graph graph = Mixture(TensorFormat::kNHWC);
  const double infinity = std::numeric_limits<double>::infinity();
  const ParameterArray last = ParameterArrays(graph, {}).back();
  const auto save = [&](double value) {
    auto saved = Store(graph, 1);
    const Tensor values = saved->Slice(saved->all_values(), int(last.node), int(last.parameter));
    values.data<double>()[values.num_elements() - 1] = value;
    EXPECT_TRUE(SaveWeights(npz_, graph, *saved, *device_).ok());
  };
  for (const auto& [value, text] :
       {std::pair(std::nan(""), "the value nan"), {infinity, "inf"}, {-infinity, "-inf"}}) {
    save(value);
    EXPECT_THAT(ErrorOf(graph), AllOf(HasSubstr(npz_ + ": \"" + last.key + "\" of layer "),
                                      HasSubstr(text), HasSubstr("expected finite numbers")));
  }
  auto store = Store(graph, 2);
  EXPECT_EQ(Load(graph, *store).status().code(), absl::StatusCode::kDataLoss);
  save(1e39);  // finite in the file, infinite in the network
  auto narrow = Store(graph, 2, DType::kFloat32);
  EXPECT_THAT(std::string(Load(graph, *narrow).status().message()), HasSubstr("inf (as float32)"));
}

TEST_F(WeightsTest, NewFilesSayWhatTheyAre) {
  const Graph graph = SimpleCnn8(TensorFormat::kNCHW);
  auto store = Store(graph, 1, DType::kFloat32);
  for (const char* name : {"x.npz", "x.safetensors"}) {
    const std::string path = folder_ / name;
    ASSERT_TRUE(SaveWeights(path, graph, *store, *device_, {}, {{"__preprocessing__", "x"}}).ok());
    EXPECT_EQ(LoadWeights(path, graph, *store, *device_)->preprocessing, "x");
    ArrayFileReader file = *ArrayFileReader::Open(path);
    EXPECT_EQ(**file.Text("__format__"), "NCHW");
    EXPECT_EQ(**file.Text("__model__"), "simplecnn8");
    EXPECT_EQ(**file.Text("__dtype__"), "float32");
    EXPECT_EQ(file.Read("1_Conv2D_weights")->shape(), (Shape{4, 3, 3, 3}));
    EXPECT_EQ(file.Read("10_FC_biases")->dtype(), DType::kFloat32);
  }
}

TEST_F(WeightsTest, AFilePredictsTheSameInTheOtherFormatAndDType) {
  const Tensor x = RandomTensor(DType::kFloat64, {3, 6, 4, 3}, 5);
  for (const TensorFormat from : kFormats) {
    for (const TensorFormat to : kFormats) {
      for (Graph (*build)(TensorFormat) : {SimpleCnn8, Mixture}) {
        const Graph graph = build(from);
        auto store = Store(graph, 1);
        const std::vector<double> expected = Predict(graph, *store, x);
        EXPECT_FALSE(Close(Predict(graph, *Store(graph, 2), x), expected, 1e-3));
        ASSERT_TRUE(SaveWeights(npz_, graph, *store, *device_).ok());

        const Graph other = build(to);
        auto loaded = Store(other, 2);
        ASSERT_TRUE(Load(other, *loaded).ok());
        EXPECT_TRUE(Close(Predict(other, *loaded, x), expected, 1e-12));

        auto narrow = Store(other, 2, DType::kFloat32);
        ASSERT_TRUE(Load(other, *narrow).ok());
        const Tensor x32 = testing::TensorOf(DType::kFloat32, x.shape(), Values(x));
        EXPECT_TRUE(Close(Predict(other, *narrow, x32), expected, 1e-5));
      }
    }
  }
}

TEST_F(WeightsTest, ThereAndBackIsTheSameForEveryKindOfParameter) {
  const Graph nhwc = Mixture(TensorFormat::kNHWC), nchw = Mixture(TensorFormat::kNCHW);
  auto store = Store(nhwc, 1), there = Store(nchw, 2), back = Store(nhwc, 3);
  ASSERT_TRUE(SaveWeights(npz_, nhwc, *store, *device_).ok());
  ASSERT_TRUE(Load(nchw, *there).ok());
  ASSERT_TRUE(SaveWeights(npz_, nchw, *there, *device_).ok());
  ASSERT_TRUE(Load(nhwc, *back).ok());
  EXPECT_EQ(Values(back->all_values()), Values(store->all_values()));
  // The batch normalisation of the flattened vector moved with it: (h, w, c) to (c, h, w).
  const int norm = 7;
  ASSERT_EQ(nhwc.nodes()[norm].output, Shape{6 * 4 * 4});
  const std::vector<double> before = Values(store->Value(norm, 1));
  const std::vector<double> after = Values(there->Value(norm, 1));
  for (size_t c = 0; c < 4; ++c) {
    for (size_t p = 0; p < 24; ++p) EXPECT_EQ(after[c * 24 + p], before[p * 4 + c]);
  }
}

TEST_F(WeightsTest, FilesWithoutTagsAreKnownByTheirShapes) {
  const Tensor x = RandomTensor(DType::kFloat64, {2, 6, 4, 3}, 5);
  for (const TensorFormat from : kFormats) {
    const Graph graph = SimpleCnn8(from);
    auto store = Store(graph, 1);
    ASSERT_TRUE(WriteNpz(npz_, Arrays(graph, *store)).ok());
    for (const TensorFormat to : kFormats) {
      const Graph other = SimpleCnn8(to);
      auto loaded = Store(other, 2);
      const absl::StatusOr<LoadedWeights> report = Load(other, *loaded);
      ASSERT_TRUE(report.ok()) << report.status();
      EXPECT_EQ(report->layout, LayoutOf(from));
      EXPECT_TRUE(Close(Predict(other, *loaded, x), Predict(graph, *store, x), 1e-12));
    }
  }
}

// 3 x 3 x 3 x 3 filters fit both formats, and a multilayer perceptron has none.
TEST_F(WeightsTest, ShapesThatFitBothFormatsAreTakenAsTheModelsUnlessSomebodySaysOtherwise) {
  const auto ambiguous = [](TensorFormat format) {
    GraphBuilder b("cube", format);
    b.Input(kSample).Conv2d(3, {.padding = 1}).Flatten().Fc(2);
    return *b.Build();
  };
  const auto mlp = [](TensorFormat format) {
    return *BuildModel("simplemlp", {.format = format, .sample = kSample, .classes = 3});
  };
  const Tensor x = RandomTensor(DType::kFloat64, {2, 6, 4, 3}, 5);
  for (const auto& build :
       {std::function<Graph(TensorFormat)>(ambiguous), std::function<Graph(TensorFormat)>(mlp)}) {
    const Graph nhwc = build(TensorFormat::kNHWC), nchw = build(TensorFormat::kNCHW);
    auto store = Store(nhwc, 1), loaded = Store(nchw, 2);
    ASSERT_TRUE(WriteNpz(npz_, Arrays(nhwc, *store)).ok());
    ASSERT_TRUE(Load(nchw, *loaded).ok());
    EXPECT_EQ(Values(loaded->all_values()), Values(store->all_values()));
    ASSERT_TRUE(Load(nchw, *loaded, {.format = WeightsFormat::kNHWC}).ok());
    EXPECT_TRUE(Close(Predict(nchw, *loaded, x), Predict(nhwc, *store, x), 1e-12));
    // A tag needs nobody to say so.
    ASSERT_TRUE(SaveWeights(npz_, nhwc, *store, *device_).ok());
    auto tagged = Store(nchw, 3);
    ASSERT_TRUE(Load(nchw, *tagged).ok());
    EXPECT_EQ(Values(tagged->all_values()), Values(loaded->all_values()));
    // And counts more than options that say otherwise.
    const absl::StatusOr<LoadedWeights> report =
        Load(nchw, *tagged, {.format = WeightsFormat::kNCHW});
    EXPECT_EQ(Values(tagged->all_values()), Values(loaded->all_values()));
    EXPECT_THAT(report->warnings, ElementsAre(HasSubstr("is tagged as NHWC")));
  }
}

// Biases (1, C, 1, 1) and, in NHWC, filters (out, kh, kw, in).
TEST_F(WeightsTest, FilesOfTheOriginalsGpuCodeAreRead) {
  const Tensor x = RandomTensor(DType::kFloat64, {2, 6, 4, 3}, 5);
  for (const TensorFormat from : kFormats) {
    const Graph graph = SimpleCnn8(from);
    auto store = Store(graph, 1);
    NamedTensors arrays = Arrays(graph, *store);
    for (auto& [key, array] : arrays) {
      const Shape shape = array.shape();
      if (key.ends_with("Conv2D_biases")) array = array.Reshaped({1, shape[0], 1, 1});
      if (shape.rank() != 4 || from == TensorFormat::kNCHW) continue;
      const Tensor cudnn =
          testing::ZeroTensor(DType::kFloat64, {shape[3], shape[1], shape[2], shape[0]});
      const double* value = array.data<double>();
      for (int64_t i = 0; i < shape[0]; ++i) {
        for (int64_t k = 0; k < shape[1] * shape[2]; ++k) {
          for (int64_t o = 0; o < shape[3]; ++o) {
            cudnn.data<double>()[(o * shape[1] * shape[2] + k) * shape[0] + i] = *value++;
          }
        }
      }
      array = cudnn;
    }
    ASSERT_TRUE(WriteNpz(npz_, arrays).ok());
    for (const TensorFormat to : kFormats) {
      const Graph other = SimpleCnn8(to);
      auto loaded = Store(other, 2);
      const absl::StatusOr<LoadedWeights> report = Load(other, *loaded);
      ASSERT_TRUE(report.ok()) << report.status();
      EXPECT_TRUE(Close(Predict(other, *loaded, x), Predict(graph, *store, x), 1e-12))
          << Name(from) << " to " << Name(to);
    }
  }
}

TEST_F(WeightsTest, MissingKeysAreAnErrorUnlessAPartialLoadIsAskedFor) {
  const Graph graph = SimpleCnn8(TensorFormat::kNHWC);
  auto store = Store(graph, 1);
  NamedTensors arrays = Arrays(graph, *store);
  arrays.resize(4);
  ASSERT_TRUE(WriteNpz(npz_, arrays).ok());
  EXPECT_THAT(ErrorOf(graph), AllOf(HasSubstr("x.npz: has no \"7_FC_weights\", \"7_FC_biases\", "
                                              "\"10_FC_weights\" and 1 more"),
                                    HasSubstr("model simplecnn8 needs")));
  auto loaded = Store(graph, 2);
  const std::vector<double> fc = Values(loaded->Value(7, 0));
  const absl::StatusOr<LoadedWeights> report = Load(graph, *loaded, {.partial = true});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->parameters, 4);
  EXPECT_THAT(report->warnings, ElementsAre(HasSubstr("these keep their values")));
  EXPECT_EQ(Values(loaded->Value(1, 0)), Values(store->Value(1, 0)));
  EXPECT_EQ(Values(loaded->Value(7, 0)), fc);

  ASSERT_TRUE(WriteNpz(npz_, {{"other", arrays[0].second}}).ok());
  EXPECT_THAT(ErrorOf(graph, {.partial = true}), HasSubstr("none of the model's parameters"));
  ASSERT_TRUE(WriteNpz(npz_, {{"features.0.weight", arrays[0].second}}).ok());
  EXPECT_THAT(ErrorOf(graph, {.partial = true}),
              HasSubstr("simplecnn8 needs; it has weights of PyTorch, by their names; the program "
                        "import makes a model of them"));
}

TEST_F(WeightsTest, AFileOfAnotherModelSaysWhichOne) {
  const Graph graph = SimpleCnn8(TensorFormat::kNHWC);
  NamedTensors arrays = Arrays(graph, *Store(graph, 1));
  arrays.resize(4);
  ASSERT_TRUE(WriteNpz(npz_, arrays, {}, {{"__model__", "vgg16"}}).ok());
  EXPECT_THAT(ErrorOf(graph), AllOf(HasSubstr("model simplecnn8 needs"),
                                    HasSubstr("; its tag says that it is a file of model "
                                              "\"vgg16\"")));
  arrays = Arrays(graph, *Store(graph, 1));
  arrays[0].second = RandomTensor(DType::kFloat32, {2, 2}, 1);
  ASSERT_TRUE(WriteNpz(npz_, arrays, {}, {{"__model__", "vgg16"}}).ok());
  EXPECT_THAT(ErrorOf(graph), HasSubstr("(2, 2)"));
  EXPECT_THAT(ErrorOf(graph), HasSubstr("file of model \"vgg16\""));
  ASSERT_TRUE(WriteNpz(npz_, arrays, {}, {{"__model__", "simplecnn8"}}).ok());
  EXPECT_THAT(ErrorOf(graph), ::testing::Not(HasSubstr("its tag says")));
}

TEST_F(WeightsTest, ExtraKeysAndTheTagOfAnotherModelAreTold) {
  const Graph graph = SimpleCnn8(TensorFormat::kNHWC);
  auto store = Store(graph, 1);
  NamedTensors arrays = Arrays(graph, *store);
  arrays.emplace_back("11_FC_weights", arrays[0].second);
  arrays.emplace_back("__slot0__1_Conv2D_weights", arrays[0].second);
  ASSERT_TRUE(WriteNpz(npz_, arrays, {}, {{"__model__", "vgg16"}, {"__author__", "x"}}).ok());
  const absl::StatusOr<LoadedWeights> report = Load(graph, *Store(graph, 2));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(
      report->warnings,
      ElementsAre(AllOf(HasSubstr("x.npz: contains \"11_FC_weights\", which")),
                  HasSubstr("its tag says that it belongs to model \"vgg16\", not to simplecnn8")));
}

TEST_F(WeightsTest, WrongShapesNameFileKeyLayerAndBothShapes) {
  const Graph graph = SimpleCnn8(TensorFormat::kNHWC);
  auto store = Store(graph, 1);
  const NamedTensors good = Arrays(graph, *store);
  const auto with = [&](std::string_view key, const Shape& shape) {
    NamedTensors arrays = good;
    for (auto& [name, array] : arrays) {
      if (name == key) array = RandomTensor(DType::kFloat32, shape, 1);
    }
    EXPECT_TRUE(WriteNpz(npz_, arrays).ok());
  };
  with("7_FC_weights", {48, 127});
  EXPECT_THAT(ErrorOf(graph), HasSubstr("x.npz: \"7_FC_weights\" of layer 7 (FC) has shape "
                                        "(48, 127), but model simplecnn8 needs (48, 128)"));
  with("7_FC_weights", {128, 48});  // the same number of elements
  EXPECT_THAT(ErrorOf(graph), HasSubstr("(128, 48), but model simplecnn8 needs (48, 128)"));
  with("3_Conv2D_weights", {4, 3, 3, 9});
  EXPECT_THAT(ErrorOf(graph), HasSubstr("\"3_Conv2D_weights\" of layer 3 (Conv2D) has shape "
                                        "(4, 3, 3, 9), but model simplecnn8 needs (4, 3, 3, 8) in "
                                        "a file of layout NHWC"));
  // An NHWC file whose FC does not fit is not blamed for its filters.
  const Graph nchw = SimpleCnn8(TensorFormat::kNCHW);
  with("10_FC_biases", {4});
  EXPECT_THAT(ErrorOf(nchw), HasSubstr("\"10_FC_biases\" of layer 10 (FC) has shape (4,)"));
  EXPECT_THAT(
      ErrorOf(nchw, {.format = WeightsFormat::kNCHW}),
      AllOf(HasSubstr("\"1_Conv2D_weights\""), HasSubstr("as the layout that was given says")));
  with("1_Conv2D_biases", {1, 4, 1, 1});
  EXPECT_TRUE(Load(graph, *store).ok());
  with("1_Conv2D_biases", {4, 1, 1, 1});
  EXPECT_THAT(ErrorOf(graph), HasSubstr("(4, 1, 1, 1), but model simplecnn8 needs (4,)"));
}

TEST_F(WeightsTest, ArraysThatAreFarTooLargeAreNotEvenRead) {
  const Graph graph = SimpleCnn8(TensorFormat::kNHWC);
  NamedTensors arrays = Arrays(graph, *Store(graph, 1));
  arrays[7].second = testing::ZeroTensor(DType::kFloat32, {1 << 22});
  ASSERT_TRUE(WriteNpz(npz_, arrays, NpzCompression::kDeflated).ok());
  EXPECT_LT(fs::file_size(npz_), 1u << 17);
  EXPECT_THAT(ErrorOf(graph), HasSubstr("\"10_FC_biases\" of layer 10 (FC) has shape (4194304,), "
                                        "but model simplecnn8 needs (5,)"));
}

// A network for other classes: all but its head comes from the file.
TEST_F(WeightsTest, APartialLoadLeavesOutWhatHasAnotherShape) {
  for (const char* name : {"x.npz", "x.safetensors"}) {
    npz_ = folder_ / name;
    for (const TensorFormat from : kFormats) {
      for (const TensorFormat to : kFormats) {
        const auto build = [](TensorFormat format, int64_t classes) {
          return *BuildModel("simplecnn8",
                             {.format = format, .sample = kSample, .classes = classes});
        };
        const Graph graph = build(to, 5);
        ASSERT_TRUE(SaveWeights(npz_, graph, *Store(graph, 1), *device_).ok());
        auto whole = Store(graph, 2);
        ASSERT_TRUE(Load(graph, *whole).ok());
        const Graph saved = build(from, 50000);  // whose head is far larger
        ASSERT_TRUE(SaveWeights(npz_, saved, *Store(saved, 1), *device_).ok());
        EXPECT_THAT(ErrorOf(graph), HasSubstr("\"10_FC_weights\" of layer 10 (FC) has shape"));
        auto loaded = Store(graph, 3);
        const std::vector<double> head = Values(loaded->Value(10, 0));
        const absl::StatusOr<LoadedWeights> report = Load(graph, *loaded, {.partial = true});
        ASSERT_TRUE(report.ok()) << report.status();
        EXPECT_EQ(report->parameters, 6);
        EXPECT_EQ(report->wanted, 8);
        EXPECT_THAT(
            report->warnings,
            ElementsAre(
                HasSubstr(
                    "\"10_FC_weights\" of layer 10 (FC) has shape (128, 50000), but "
                    "model simplecnn8 needs (128, 5): the parameter keeps its initial values"),
                HasSubstr("has shape (50000,), but model simplecnn8 needs (5,)")));
        EXPECT_EQ(Values(loaded->Value(10, 0)), head);
        if (from != to) continue;
        EXPECT_EQ(Values(loaded->Value(1, 0)), Values(whole->Value(1, 0)));
        EXPECT_EQ(Values(loaded->Value(7, 0)), Values(whole->Value(7, 0)));
      }
    }
  }
}

TEST_F(WeightsTest, APartialLoadTellsOfAFewAndRefusesNothingAtAll) {
  const auto build = [](int64_t width) {
    GraphBuilder b("wide", TensorFormat::kNHWC);
    b.Input(kSample).Flatten();
    for (int i = 0; i < 6; ++i) b.Fc(width);
    return *b.Fc(3).Build();
  };
  const Graph graph = build(4), other = build(5);
  ASSERT_TRUE(SaveWeights(npz_, other, *Store(other, 1), *device_).ok());
  auto store = Store(graph, 2);
  const absl::StatusOr<LoadedWeights> report = Load(graph, *store, {.partial = true});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->parameters, 1);  // the last biases
  ASSERT_EQ(report->warnings.size(), 9u);
  EXPECT_THAT(report->warnings.back(),
              HasSubstr("5 more parameters have other shapes there and keep their values"));
  NamedTensors arrays = Arrays(other, *Store(other, 1));
  arrays.pop_back();
  ASSERT_TRUE(WriteNpz(npz_, arrays).ok());
  EXPECT_THAT(ErrorOf(graph, {.partial = true}),
              AllOf(HasSubstr("x.npz: none of its arrays has the shape that the model needs"),
                    HasSubstr("\"2_FC_weights\" of layer 2 (FC) has shape (72, 5)")));
}

TEST_F(WeightsTest, FeaturesOfSeveralOrdersCannotBeConverted) {
  const auto build = [](TensorFormat format) {
    GraphBuilder b("sum", format);
    const GraphBuilder::Path fc = [](GraphBuilder& p) { p.Fc(6 * 4 * 3); };
    b.Input(kSample).Flatten().Add({fc, GraphBuilder::Identity()}).Fc(2);
    return *b.Build();
  };
  const Graph graph = build(TensorFormat::kNHWC);
  auto store = Store(graph, 1);
  ASSERT_TRUE(SaveWeights(npz_, graph, *store, *device_).ok());
  EXPECT_TRUE(Load(graph, *store).ok());
  EXPECT_THAT(ErrorOf(build(TensorFormat::kNCHW)),
              AllOf(HasSubstr("takes a vector in which features have several orders"),
                    HasSubstr("NHWC to the model's NCHW")));
}

TEST_F(WeightsTest, FilesThatAreNoneSayWhatIsWrong) {
  const Graph graph = SimpleCnn8(TensorFormat::kNHWC);
  auto store = Store(graph, 1);
  EXPECT_THAT(ErrorOf(graph), AllOf(HasSubstr("x.npz"), HasSubstr("No such file")));
  npz_ = folder_ / "x.h5";
  EXPECT_THAT(ErrorOf(graph), HasSubstr("only .npz and .safetensors are read"));
  EXPECT_THAT(std::string(SaveWeights(npz_, graph, *store, *device_).message()),
              HasSubstr(".npz or .safetensors"));
  npz_ = folder_ / "x.npz";
  ASSERT_TRUE(WriteNpz(npz_, Arrays(graph, *store), {}, {{"__format__", "NHCW"}}).ok());
  EXPECT_THAT(ErrorOf(graph), HasSubstr("its tag __format__ is \"NHCW\""));
  NamedTensors arrays = Arrays(graph, *store);
  arrays.emplace_back("__format__", arrays[0].second);
  ASSERT_TRUE(WriteNpz(npz_, arrays).ok());
  EXPECT_THAT(ErrorOf(graph), HasSubstr("x.npz/__format__: has dtype"));
}

TEST_F(WeightsTest, PickledObjectsAreNeverLoaded) {
  const Graph graph = SimpleCnn8(TensorFormat::kNHWC);
  npz_ = "models/parameters/testdata/structured.npz";
  EXPECT_THAT(
      ErrorOf(graph),
      AllOf(HasSubstr("structured.npz: contains its layers as one list of pickled Python objects"),
            HasSubstr("such as \"1_Conv2D_weights\"")));
  npz_ = "models/parameters/testdata/object_weights.npz";
  EXPECT_THAT(ErrorOf(graph, {.partial = true}),
              HasSubstr("object_weights.npz/1_Conv2D_weights: contains Python objects"));
}

// The network of weights_fuzz.cc: seeds that are meant to load do, in both formats.
TEST_F(WeightsTest, OrdinarySeedsOfTheFuzzerLoad) {
  for (const char* seed :
       {"good_nhwc", "good_nchw", "untagged_nhwc", "untagged_nchw", "gpu_nhwc", "float64",
        "big_endian", "integers", "fortran_order", "extra", "gpu_vector_of_features",
        "good_safetensors", "good_nchw_safetensors", "untagged_safetensors", "half_safetensors"}) {
    // The reader goes by the ending of a name, which seeds do not have.
    const bool zip = !std::string_view(seed).ends_with("safetensors");
    const std::string path = folder_ / (std::string(seed) + (zip ? ".npz" : ".safetensors"));
    fs::copy_file(std::string("models/parameters/testdata/fuzz/weights/") + seed, path);
    for (const TensorFormat format : kFormats) {
      GraphBuilder b("net", format);
      b.Input({2, 3, 2}).Conv2d(3, {.kernel = 2}).BatchNorm().Flatten().BatchNorm().Fc(2);
      const Graph graph = *b.Build();
      const absl::Status status = LoadWeights(path, graph, *Store(graph, 1), *device_).status();
      EXPECT_EQ(status, absl::OkStatus()) << seed;
    }
  }
}

TEST(WeightsFormatTest, WordsInAnyCase) {
  EXPECT_EQ(ParseWeightsFormat("auto"), WeightsFormat::kAuto);
  EXPECT_EQ(ParseWeightsFormat("NHWC"), WeightsFormat::kNHWC);
  EXPECT_EQ(ParseWeightsFormat("nchw"), WeightsFormat::kNCHW);
  EXPECT_EQ(ParseWeightsFormat("hwc"), std::nullopt);
}

}  // namespace
}  // namespace dtnn
