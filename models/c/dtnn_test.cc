#include "models/c/dtnn.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/device/context.h"
#include "models/graph/builder.h"
#include "models/parameters/parameter_store.h"
#include "models/serving/predictor.h"
#include "models/serving/saved_model.h"
#include "tensor/text/version.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Model = std::unique_ptr<dtnn_model, decltype(&dtnn_free)>;

Model Load(const std::string& path, const char* options = nullptr) {
  return {dtnn_load(path.c_str(), options), dtnn_free};
}

class DtnnTest : public ::testing::Test {
 protected:
  // A network for images of 6 x 6 whose parameters are not what they began as.
  std::string Saved(DType dtype = DType::kFloat32, TensorFormat format = TensorFormat::kNHWC,
                    bool named = true) {
    GraphBuilder b("small", format);
    b.Input({6, 6, 3}).Conv2d(4, {.padding = 1}).Relu().Flatten().Fc(3);
    SavedModel model = {.graph = *b.Softmax().Build(), .dtype = dtype};
    if (named) model.description.class_names = {"cat", "dog", "fox"};
    const auto device = *DeviceContext::Create(Device::Cpu());
    const auto store = *ParameterStore::Create(model.graph, *device, dtype, 3);
    const std::string path = folder_ + "/model.safetensors";
    EXPECT_TRUE(SaveModel(path, model, *store, *device).ok());
    return path;
  }

  std::string Image(int seed) {
    const std::vector<uint8_t> pixels = testing::SmoothPixels(6, 6, 3, seed);
    return testing::WriteFile(folder_, std::to_string(seed) + ".png", Png(pixels));
  }
  static std::vector<uint8_t> Png(const std::vector<uint8_t>& pixels) {
    return testing::EncodePng(6, 6, pixels);
  }

  std::string folder_ = testing::NewFolder("dtnn");
};

TEST_F(DtnnTest, TheMathModeIsThatOfThePredictor) {
  const std::string path = Saved();
  const auto predictor = *Predictor::Load(path, {.math_mode = MathMode::kBf16});
  const Tensor x = testing::RandomTensor(DType::kFloat32, {2, 6, 6, 3}, 7);
  const auto outputs = [&](const char* options) {
    const Model model = Load(path, options);
    std::vector<float> values(6);
    EXPECT_EQ(dtnn_predict_floats(model.get(), x.data<float>(), 2, values.data(), 6), 0)
        << dtnn_last_error();
    return values;
  };
  const Tensor y = *predictor->Predict(x);
  EXPECT_EQ(outputs("math-mode=bf16"), std::vector<float>(y.data<float>(), y.data<float>() + 6));
  EXPECT_NE(outputs("math-mode=bf16"), outputs("math-mode=fp32"));
  EXPECT_EQ(outputs("math-mode=fp32"), outputs(nullptr));
}

TEST_F(DtnnTest, DescribesTheModel) {
  EXPECT_EQ(dtnn_version(), Version());
  const Model model = Load(Saved());
  ASSERT_NE(model, nullptr) << dtnn_last_error();
  EXPECT_STREQ(dtnn_name(model.get()), "small");
  EXPECT_STREQ(dtnn_warnings(model.get()), "");
  EXPECT_STREQ(dtnn_layout(model.get()), "NHWC");
  int64_t extents[4] = {-1, -1, -1, -1};
  EXPECT_EQ(dtnn_input_shape(model.get(), extents, 2), 3);
  EXPECT_THAT(extents, ElementsAre(6, 6, -1, -1));
  EXPECT_EQ(dtnn_input_shape(model.get(), extents, 4), 3);
  EXPECT_THAT(extents, ElementsAre(6, 6, 3, -1));
  EXPECT_EQ(dtnn_num_outputs(model.get()), 3);
  EXPECT_EQ(dtnn_num_parameters(model.get()), 4 * 3 * 9 + 4 + 144 * 3 + 3);
  EXPECT_EQ(dtnn_output_kind(model.get()), DTNN_CLASSES);
  EXPECT_STREQ(dtnn_output_name(model.get(), 2), "fox");
  const Model unnamed = Load(Saved(DType::kFloat32, TensorFormat::kNCHW, false));
  EXPECT_STREQ(dtnn_output_name(unnamed.get(), 2), "2");
  EXPECT_STREQ(dtnn_layout(unnamed.get()), "NCHW");
  EXPECT_EQ(dtnn_input_shape(unnamed.get(), extents, 4), 3);
  EXPECT_THAT(extents, ElementsAre(3, 6, 6, -1));
}

// Files, their bytes and their pixels give what the C++ predictor gives, whatever the batches.
TEST_F(DtnnTest, PredictsWhatThePredictorPredicts) {
  const std::vector<std::string> files = {Image(1), Image(2), Image(3), Image(4), Image(5)};
  const size_t n = files.size();
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
      const std::string path = Saved(dtype, format);
      const auto predictor = *Predictor::Load(path);
      std::vector<float> expected, samples;
      const auto answers = *predictor->Classify(files);
      for (const Classification& answer : answers) {
        for (const double output : answer.outputs) expected.push_back(float(output));
      }
      const Tensor x = *predictor->NewSamples(int64_t(n));
      for (size_t i = 0; i < n; ++i) {
        ASSERT_TRUE((*predictor->images())->Read(files[i], x, int64_t(i)).ok());
      }
      for (const double value : testing::Values(x, TensorFormat::kNCHW)) {
        samples.push_back(float(value));
      }
      std::vector<const char*> paths;
      std::vector<std::vector<uint8_t>> bytes;
      std::vector<const void*> images;
      std::vector<size_t> sizes;
      std::vector<uint8_t> pixels;
      for (size_t i = 0; i < n; ++i) {
        paths.push_back(files[i].c_str());
        const std::vector<uint8_t> one = testing::SmoothPixels(6, 6, 3, int(i) + 1);
        pixels.insert(pixels.end(), one.begin(), one.end());
        bytes.push_back(Png(one));
        images.push_back(bytes.back().data());
        sizes.push_back(bytes.back().size());
      }
      const Model model = Load(path, "batch-size=2");
      ASSERT_NE(model, nullptr) << dtnn_last_error();
      const auto result = [&](auto predict, const auto&... arguments) {
        std::vector<float> outputs(n * 3);
        EXPECT_EQ(predict(model.get(), arguments..., n, outputs.data(), outputs.size()), 0)
            << dtnn_last_error();
        return outputs;
      };
      EXPECT_EQ(result(dtnn_predict_files, paths.data()), expected);
      EXPECT_EQ(result(dtnn_predict_images, images.data(), sizes.data()), expected);
      EXPECT_EQ(result(dtnn_predict_pixels, pixels.data(), 6, 6, 3), expected);
      if (dtype == DType::kFloat32) {
        EXPECT_EQ(result(dtnn_predict_floats, samples.data()), expected);
      }
    }
  }
}

// Which the C++ predictor gives as double.
TEST_F(DtnnTest, OutputsThatNoFloatHoldsAreAnError) {
  GraphBuilder b("large", TensorFormat::kNHWC);
  b.Input({1, 1, 1}).Flatten().Fc(2);
  const SavedModel model = {.graph = *b.Build(), .dtype = DType::kFloat64};
  const auto device = *DeviceContext::Create(Device::Cpu());
  const auto store = *ParameterStore::Create(model.graph, *device, DType::kFloat64, 3);
  const std::string path = folder_ + "/large.safetensors";
  const auto predict = [&](double last, std::vector<float>& outputs) {
    const Tensor& all = store->all_values();
    std::ranges::fill(std::span(all.data<double>(), size_t(all.num_elements())), 1.0);
    store->Value(2, 0).data<double>()[1] = last;
    EXPECT_TRUE(SaveModel(path, model, *store, *device).ok());
    const float one = 1;
    return dtnn_predict_floats(Load(path).get(), &one, 1, outputs.data(), 2);
  };
  std::vector<float> outputs(2);
  EXPECT_EQ(predict(3e38, outputs), 0) << dtnn_last_error();
  EXPECT_THAT(outputs, ElementsAre(2, 3e38f));
  for (const double beyond : {1e39, -1e39}) {
    EXPECT_EQ(predict(beyond, outputs), -1);
    EXPECT_STREQ(dtnn_last_error(),
                 beyond > 0 ? "model large: an output, 1e+39, is beyond the range of float"
                            : "model large: an output, -1e+39, is beyond the range of float");
  }
}

TEST_F(DtnnTest, ErrorsAreTexts) {
  const auto error_of = [](int code) {
    EXPECT_EQ(code, -1);
    return std::string(dtnn_last_error());
  };
  EXPECT_EQ(Load(folder_ + "/none.safetensors"), nullptr);
  EXPECT_THAT(dtnn_last_error(), StartsWith(folder_ + "/none.safetensors: "));
  EXPECT_EQ(Load(testing::WriteFile(folder_, "short.safetensors", std::vector<uint8_t>{1, 2, 3})),
            nullptr);
  EXPECT_THAT(dtnn_last_error(), StartsWith(folder_ + "/short.safetensors: "));
  const std::string path = Saved();
  const std::pair<const char*, const char*> options[] = {
      {"batch-size=-1", "option \"batch-size=-1\": must be a number >= 1"},
      {"batch-size=8x", "option \"batch-size=8x\": must be a number >= 1"},
      {"math-mode=fp8", "option \"math-mode=fp8\": must be fp32, bf16 or int8"},
      {"batch-size=8 batch\n",
       "option \"batch\\n\": is unknown; there are batch-size=N and math-mode=MODE"}};
  for (const auto& [text, error] : options) {
    EXPECT_EQ(Load(path, text), nullptr);
    EXPECT_STREQ(dtnn_last_error(), error);
  }
  EXPECT_EQ(Load(path, " math-mode=int8"), nullptr) << "was not quantized";
  EXPECT_THAT(dtnn_last_error(), AllOf(StartsWith(path), HasSubstr("quantize")));
  EXPECT_EQ(Load(path, "batch-size=1000000000000000000"), nullptr);
  EXPECT_EQ(Load(Saved(DType::kFloat64), "math-mode=bf16"), nullptr);
  EXPECT_STREQ(dtnn_last_error(), "math mode bf16 is for models of float32, not float64");
  EXPECT_EQ(Saved(), path);
  EXPECT_NE(Load(path, " math-mode=fp32  batch-size=8 "), nullptr) << dtnn_last_error();
  const Model model = Load(path);
  dtnn_model* const m = model.get();
  EXPECT_EQ(dtnn_output_name(m, 3), nullptr);
  EXPECT_STREQ(dtnn_last_error(), "there is no output 3; model small has 3");
  EXPECT_EQ(dtnn_output_name(m, -1), nullptr);

  const std::string image = Image(1), missing = folder_ + "/none.png";
  const char* const paths[] = {image.c_str(), missing.c_str(), nullptr};
  float out[9] = {};
  EXPECT_THAT(error_of(dtnn_predict_files(m, paths, 2, out, 9)), StartsWith(missing + ": "));
  EXPECT_EQ(error_of(dtnn_predict_files(m, paths + 2, 1, out, 9)), "paths[0] is NULL");
  EXPECT_EQ(error_of(dtnn_predict_files(m, paths, 0, out, 9)),
            "n is 0; expected one or more samples");
  EXPECT_EQ(error_of(dtnn_predict_files(m, paths, 1, out, 2)),
            "outputs has room for 2 values; 1 samples of model small have 3 each");
  EXPECT_THAT(error_of(dtnn_predict_files(m, paths, SIZE_MAX, out, 9)),
              HasSubstr("room for 9 values"));
  const void* const images[] = {"no image"};
  const size_t sizes[] = {8};
  EXPECT_THAT(error_of(dtnn_predict_images(m, images, sizes, 1, out, 9)),
              StartsWith("images[0]: "));
  const void* const no_image[] = {nullptr};
  EXPECT_EQ(error_of(dtnn_predict_images(m, no_image, sizes, 1, out, 9)), "images[0] is NULL");
  const uint8_t pixels[6 * 6 * 5] = {};
  EXPECT_EQ(dtnn_predict_pixels(m, pixels, 6, 6, 1, 1, out, 9), 0) << "grey";
  EXPECT_EQ(dtnn_predict_pixels(m, pixels, 6, 6, 4, 1, out, 9), 0) << "with alpha";
  for (const auto& [height, width, channels] : {std::tuple<int64_t, int64_t, int64_t>{-1, 6, 3},
                                                {6, 0, 3},
                                                {6, 6, 0},
                                                {int64_t{1} << 40, int64_t{1} << 40, 3},
                                                {16384, 16385, 3},
                                                {1, (int64_t{1} << 28) + 1, 1},
                                                {6, 6, 5}}) {
    EXPECT_THAT(error_of(dtnn_predict_pixels(m, pixels, height, width, channels, 1, out, 9)),
                HasSubstr("expected at least 1 x 1"));
  }
  float samples[6 * 6 * 3] = {};
  for (const float odd :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    samples[5] = odd;
    EXPECT_THAT(error_of(dtnn_predict_floats(m, samples, 1, out, 9)), HasSubstr("NaN or infinite"));
  }
}

TEST_F(DtnnTest, NullIsAnError) {
  const Model model = Load(Saved());
  dtnn_model* const m = model.get();
  float out[3] = {};
  const char* const path = "";
  const void* const image = "";
  const size_t size = 0;
  const uint8_t pixel = 0;
  EXPECT_EQ(dtnn_load(nullptr, nullptr), nullptr);
  EXPECT_STREQ(dtnn_last_error(), "path is NULL");
  EXPECT_EQ(dtnn_name(nullptr), nullptr);
  EXPECT_STREQ(dtnn_last_error(), "model is NULL");
  EXPECT_EQ(dtnn_warnings(nullptr), nullptr);
  EXPECT_EQ(dtnn_layout(nullptr), nullptr);
  EXPECT_EQ(dtnn_output_name(nullptr, 0), nullptr);
  EXPECT_EQ(dtnn_input_shape(nullptr, nullptr, 0), -1);
  EXPECT_EQ(dtnn_input_shape(m, nullptr, 1), -1);
  EXPECT_STREQ(dtnn_last_error(), "extents is NULL");
  EXPECT_EQ(dtnn_num_outputs(nullptr), -1);
  EXPECT_EQ(dtnn_num_parameters(nullptr), -1);
  EXPECT_EQ(dtnn_output_kind(nullptr), -1);
  EXPECT_EQ(dtnn_predict_files(nullptr, &path, 1, out, 3), -1);
  EXPECT_EQ(dtnn_predict_files(m, nullptr, 1, out, 3), -1);
  EXPECT_EQ(dtnn_predict_files(m, &path, 1, nullptr, 3), -1);
  EXPECT_STREQ(dtnn_last_error(), "outputs is NULL");
  EXPECT_EQ(dtnn_predict_images(nullptr, &image, &size, 1, out, 3), -1);
  EXPECT_EQ(dtnn_predict_images(m, nullptr, &size, 1, out, 3), -1);
  EXPECT_EQ(dtnn_predict_images(m, &image, nullptr, 1, out, 3), -1);
  EXPECT_EQ(dtnn_predict_pixels(nullptr, &pixel, 1, 1, 3, 1, out, 3), -1);
  EXPECT_EQ(dtnn_predict_pixels(m, nullptr, 1, 1, 3, 1, out, 3), -1);
  EXPECT_EQ(dtnn_predict_floats(nullptr, out, 1, out, 3), -1);
  EXPECT_EQ(dtnn_predict_floats(m, nullptr, 1, out, 3), -1);
  dtnn_free(nullptr);
}

// Each thread has an error of its own, and all share a model.
TEST_F(DtnnTest, ThreadsShareAModel) {
  const Model model = Load(Saved(), "batch-size=2");
  dtnn_load("before", nullptr);
  const std::string before = dtnn_last_error(), image = Image(1);
  const char* const paths[] = {image.c_str(), image.c_str(), image.c_str()};
  std::vector<float> expected(9);
  ASSERT_EQ(dtnn_predict_files(model.get(), paths, 3, expected.data(), 9), 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      EXPECT_STREQ(dtnn_last_error(), "");
      const std::string missing = folder_ + "/none" + std::to_string(t);
      for (int i = 0; i < 10; ++i) {
        std::vector<float> outputs(9);
        EXPECT_EQ(dtnn_predict_files(model.get(), paths, 3, outputs.data(), 9), 0);
        EXPECT_EQ(outputs, expected);
        EXPECT_EQ(dtnn_load(missing.c_str(), nullptr), nullptr);
        EXPECT_THAT(dtnn_last_error(), StartsWith(missing + ": "));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(dtnn_last_error(), before);
}

TEST_F(DtnnTest, ALongErrorIsCut) {
  const std::string path(10000, 'x');
  EXPECT_EQ(dtnn_load(path.c_str(), nullptr), nullptr);
  EXPECT_THAT(dtnn_last_error(), StartsWith("xxxxx"));
  EXPECT_LT(std::string(dtnn_last_error()).size(), 4096);
}

}  // namespace
}  // namespace dtnn
