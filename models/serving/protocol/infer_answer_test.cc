#include "models/serving/protocol/infer_answer.h"

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/serving/protocol/input_samples.h"
#include "nlohmann/json.hpp"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::Values;

InferRequest Request(std::string datatype, const Shape& shape, std::vector<double> values) {
  InferRequest request;
  request.inputs.push_back({.name = "input",
                            .datatype = std::move(datatype),
                            .shape = shape,
                            .values = std::move(values)});
  return request;
}

class SamplesTest : public ::testing::Test {
 protected:
  static SampleRules Rules(TensorFormat format, const ImageInput& images) {
    return {.sample = SampleShape({2, 3, 3}, format),
            .format = format,
            .images = &images,
            .max_samples = 4};
  }
  std::string Refusal(const InferRequest& request) const {
    const absl::Status status = SamplesOf(request, rules_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }

  ImageInput images_ = *ImageInput::Create({}, {2, 3, 3}, TensorFormat::kNHWC);
  SampleRules rules_ = Rules(TensorFormat::kNHWC, images_);
};

TEST_F(SamplesTest, ValuesBecomeSamples) {
  std::vector<double> values(36);
  for (size_t i = 0; i < values.size(); ++i) values[i] = double(i) / 4;
  InferRequest request = Request("FP32", {2, 2, 3, 3}, values);
  const auto x = SamplesOf(request, rules_);
  ASSERT_TRUE(x.ok()) << x.status();
  EXPECT_EQ(x->shape(), (Shape{2, 2, 3, 3}));
  EXPECT_EQ(Values(*x), values);
  const std::string bytes(reinterpret_cast<const char*>(x->raw_data()), 36 * sizeof(float));
  request.inputs[0].bytes = bytes;
  request.inputs[0].values.clear();
  EXPECT_EQ(Values(*SamplesOf(request, rules_)), values);
}

TEST_F(SamplesTest, BytesBecomeImagesAsInTraining) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const ImageInput images = *ImageInput::Create({}, {2, 3, 3}, format);
    for (const ImageExtents& extents : {ImageExtents{2, 3, 3}, ImageExtents{5, 4, 3}}) {
      const Shape shape = SampleShape(extents, format).Prepend(2);
      std::vector<double> values;
      for (int64_t i = 0; i < shape.NumElements(); ++i) values.push_back(double(i * 37 % 256));
      const auto x = SamplesOf(Request("UINT8", shape, values), Rules(format, images));
      ASSERT_TRUE(x.ok()) << x.status();
      for (int64_t row = 0; row < 2; ++row) {
        Image image = {.extents = extents, .pixels = {}};
        const size_t size = size_t(shape.NumElements() / 2);
        const size_t area = size_t(extents.height * extents.width);
        for (size_t p = 0; p < area; ++p) {
          for (size_t c = 0; c < 3; ++c) {
            const size_t at = format == TensorFormat::kNHWC ? p * 3 + c : c * area + p;
            image.pixels.push_back(uint8_t(values[size_t(row) * size + at]));
          }
        }
        const Tensor expected =
            testing::ZeroTensor(DType::kFloat32, SampleShape({2, 3, 3}, format).Prepend(1));
        ASSERT_TRUE(images.Convert(image, expected, 0).ok());
        EXPECT_EQ(Values(x->Samples(row, 1, format)), Values(expected));
      }
    }
  }
}

TEST_F(SamplesTest, OthersAreRefusedByName) {
  const std::vector<double> one(18, 1.0);
  InferRequest named = Request("FP32", {1, 2, 3, 3}, one);
  named.inputs[0].name = "x";
  EXPECT_THAT(Refusal(named), HasSubstr(R"(inputs[0]: name "x"; the model's input is "input")"));
  InferRequest two = Request("FP32", {1, 2, 3, 3}, one);
  two.inputs.push_back(two.inputs[0]);
  EXPECT_THAT(Refusal(two), HasSubstr("2 inputs; the model has one"));
  EXPECT_THAT(Refusal(Request("FP64", {1, 2, 3, 3}, one)), HasSubstr("takes FP32 or UINT8"));
  EXPECT_THAT(Refusal(Request("FP32", {1, 3, 2, 3}, one)), HasSubstr("takes (n, 2, 3, 3)"));
  EXPECT_THAT(Refusal(Request("FP32", {2, 3, 3}, one)), HasSubstr("takes (n, 2, 3, 3)"));
  EXPECT_THAT(Refusal(Request("FP32", {}, {1})), HasSubstr("takes (n, 2, 3, 3)"));
  EXPECT_THAT(Refusal(Request("FP32", {0, 2, 3, 3}, {})), HasSubstr("has 0 samples"));
  EXPECT_THAT(Refusal(Request("FP32", {5, 2, 3, 3}, std::vector<double>(90))),
              HasSubstr("expected 1 to 4 in a request"));
  // Tiny images that would become large samples.
  EXPECT_THAT(Refusal(Request("UINT8", {5, 1, 1, 3}, std::vector<double>(15))),
              HasSubstr("expected 1 to 4 in a request"));
  EXPECT_THAT(Refusal(Request("UINT8", {1, 0, 3, 3}, {})), HasSubstr("sides of 1 to 65536"));
  EXPECT_THAT(Refusal(Request("UINT8", {1, 1, 65537, 3}, std::vector<double>(65537 * 3))),
              HasSubstr("sides of 1 to 65536"));
  EXPECT_EQ(SamplesOf(Request("UINT8", {1, 1, 65536, 3}, std::vector<double>(65536 * 3)), rules_)
                .status(),
            absl::OkStatus());
  EXPECT_THAT(Refusal(Request("UINT8", {1, 65537, 1, 3}, std::vector<double>(65537 * 3))),
              HasSubstr("sides of 1 to 65536"));
  EXPECT_THAT(Refusal(Request("UINT8", {1, 2, 3, 1}, std::vector<double>(6))),
              HasSubstr("(n, height, width, 3)"));
  std::vector<double> large = one;
  large[17] = 1e39;
  EXPECT_THAT(Refusal(Request("FP32", {1, 2, 3, 3}, large)), HasSubstr("data[17] is 1e+39, which"));
  for (const double value : {-1.0, 256.0, 0.5}) {
    large[17] = value;
    EXPECT_THAT(Refusal(Request("UINT8", {1, 2, 3, 3}, large)), HasSubstr("data[17]"));
  }
  rules_.images = nullptr;
  EXPECT_THAT(Refusal(Request("UINT8", {1, 2, 3, 3}, one)), HasSubstr("the model takes FP32"));
}

TEST(InferAnswerTest, NumbersReadBackAsTheSame) {
  const Tensor outputs = testing::RandomTensor(DType::kFloat32, Shape{3, 50}, 1);
  float* const values = outputs.data<float>();
  values[0] = std::numeric_limits<float>::denorm_min();
  values[1] = std::numeric_limits<float>::max();
  values[2] = -0.0F;
  const auto answer = FormatInferAnswer({.id = "a\"b"}, "net", 7, outputs);
  ASSERT_TRUE(answer.ok()) << answer.status();
  const json parsed = json::parse(answer->body);
  EXPECT_EQ(parsed["model_name"], "net");
  EXPECT_EQ(parsed["model_version"], "7");
  EXPECT_EQ(parsed["id"], "a\"b");
  EXPECT_EQ(parsed["outputs"][0]["name"], "output");
  EXPECT_EQ(parsed["outputs"][0]["datatype"], "FP32");
  EXPECT_EQ(parsed["outputs"][0]["shape"], json({3, 50}));
  for (size_t i = 0; i < 150; ++i) {
    EXPECT_EQ(float(parsed["outputs"][0]["data"][i].get<double>()), values[i]);
  }
  EXPECT_FALSE(answer->json_bytes);

  const auto binary = FormatInferAnswer({.binary = true}, "net", 7, outputs);
  ASSERT_TRUE(binary.ok() && binary->json_bytes);
  const json head = json::parse(binary->body.substr(0, *binary->json_bytes));
  EXPECT_EQ(head["outputs"][0]["parameters"]["binary_data_size"], 600);
  EXPECT_FALSE(head["outputs"][0].contains("data"));
  EXPECT_FALSE(head.contains("id"));
  ASSERT_EQ(binary->body.size(), *binary->json_bytes + 600);
  EXPECT_EQ(std::memcmp(binary->body.data() + *binary->json_bytes, values, 600), 0);
}

TEST(InferAnswerTest, WhatIsNotFiniteIsAnError) {
  const Tensor outputs = testing::RandomTensor(DType::kFloat32, Shape{3, 50}, 1);
  outputs.data<float>()[120] = std::numeric_limits<float>::infinity();
  for (const bool binary : {false, true}) {
    EXPECT_THAT(
        std::string(FormatInferAnswer({.binary = binary}, "m", 1, outputs).status().message()),
        HasSubstr("output for sample 2 is NaN or infinite"));
  }
}

TEST(InferAnswerTest, FormsAreThoseThatWereAsked) {
  InferRequest request = {.id = "x", .inputs = {}, .outputs = {}, .binary_outputs = true};
  EXPECT_TRUE(AnswerForm::Of(request)->binary);
  EXPECT_EQ(AnswerForm::Of(request)->id, "x");
  request.outputs = {{.name = "output", .binary = false}};
  EXPECT_FALSE(AnswerForm::Of(request)->binary);
  request.outputs[0].name = "y";
  EXPECT_THAT(std::string(AnswerForm::Of(request).status().message()),
              HasSubstr(R"(outputs[0]: name "y")"));
  request.outputs = {{.name = "output"}, {.name = "output"}};
  EXPECT_FALSE(AnswerForm::Of(request).ok());
}

}  // namespace
}  // namespace dtnn
