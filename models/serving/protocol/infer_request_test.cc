#include "models/serving/protocol/infer_request.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<InferRequest> Parse(std::string_view json, const InferLimits& limits = {}) {
  return ParseInferRequest(json, json.size(), limits);
}

// The one input, with these members after its name.
std::string Request(std::string_view members) {
  return StrCat(R"({"inputs": [{"name": "input", )", members, "}]}");
}

TEST(InferRequestTest, ReadsMembersInAnyOrder) {
  const std::string json = R"({
    "parameters": {"binary_data_output": true, "other": [1, {"a": null}]},
    "outputs": [{"name": "output", "parameters": {"binary_data": false, "classification": 2}}],
    "inputs": [{"data": [[1, -2.5e0], [3e-1, 4]], "datatype": "FP32", "unknown": {"shape": [7]},
                "shape": [2, 2], "name": "input", "parameters": {"x": 1.5}}],
    "id": "a\u00e4", "more": [[["inputs"]]]})";
  const auto request = Parse(json);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->id, "a\u00e4");
  EXPECT_TRUE(request->binary_outputs);
  ASSERT_EQ(request->outputs.size(), 1);
  EXPECT_EQ(request->outputs[0].name, "output");
  EXPECT_EQ(request->outputs[0].binary, false);
  ASSERT_EQ(request->inputs.size(), 1);
  EXPECT_EQ(request->inputs[0].name, "input");
  EXPECT_EQ(request->inputs[0].datatype, "FP32");
  EXPECT_EQ(request->inputs[0].shape, (Shape{2, 2}));
  EXPECT_THAT(request->inputs[0].values, ElementsAre(1, -2.5, 0.3, 4));
  EXPECT_FALSE(request->inputs[0].bytes);
}

TEST(InferRequestTest, DataMayBeFlatOrNestedAsTheShape) {
  for (const char* data : {"[1,2,3,4,5,6]", "[[1,2,3],[4,5,6]]", "[[[1],[2],[3]],[[4],[5],[6]]]"}) {
    const bool deep = std::string_view(data).starts_with("[[[");
    EXPECT_TRUE(Parse(Request(StrCat(R"("datatype": "FP32", "shape": [2, 3)", deep ? ", 1" : "",
                                     R"(], "data": )", data)))
                    .ok())
        << data;
  }
}

TEST(InferRequestTest, ReadsBinaryTensorsInTheirOrder) {
  const std::string json =
      R"({"inputs": [{"name": "a", "datatype": "UINT8", "shape": [3],
                      "parameters": {"binary_data_size": 3}},
                     {"name": "b", "datatype": "FP32", "shape": [1], "data": [5]},
                     {"name": "c", "datatype": "FP32", "shape": [1, 1],
                      "parameters": {"binary_data_size": 4}}]})";
  const std::string body = json + "abcwxyz";
  const auto request = ParseInferRequest(body, json.size());
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->inputs[0].bytes, "abc");
  EXPECT_FALSE(request->inputs[1].bytes);
  EXPECT_EQ(request->inputs[2].bytes, "wxyz");
  for (const auto& [text, said] : std::vector<std::pair<std::string, std::string>>{
           {json + "abcwxy", "inputs[2]: binary_data_"},
           {json + "abcwxyz!", "1 bytes follow"},
           {json, "but 0 bytes follow"}}) {
    EXPECT_THAT(std::string(ParseInferRequest(text, json.size()).status().message()),
                HasSubstr(said));
  }
  EXPECT_EQ(ParseInferRequest(json, json.size() + 1).status().message(),
            "the JSON should have " + std::to_string(json.size() + 1) +
                " bytes, but the body has " + std::to_string(json.size()));
}

TEST(InferRequestTest, WrongRequestsAreNamed) {
  const std::string fp32 = R"("datatype": "FP32", )";
  const std::pair<std::string, const char*> kWrong[] = {
      {"", "no valid JSON"},
      {"{\"inputs\": [", "no valid JSON"},
      {"[]", "the request is an array; expected an object"},
      {"7", "the request is a number; expected an object"},
      {"{}", "the request has no inputs"},
      {"{\"inputs\": 3}", "the request: inputs is a number"},
      {"{\"inputs\": [3]}", "a number among the inputs"},
      {"{\"inputs\": [[]]}", "an array among the inputs"},
      {"{\"inputs\": [{}]}", "inputs[0]: has no name"},
      {"{\"id\": 3, \"inputs\": []}", "id is a number"},
      {"{\"inputs\": [], \"inputs\": []}", "has inputs twice"},
      {"{\"inputs\": []} {}", "no valid JSON"},
      {Request(R"("datatype": "FP31")"), R"(datatype "FP31"; expected one of)"},
      {Request(R"("datatype": "BYTES", "shape": [1], "data": ["a"])"), "data has a text"},
      {Request(fp32 + R"("shape": [1], "data": [NaN])"), "no valid JSON"},
      {Request(fp32 + R"("shape": [1], "data": [1e999])"), "number that is too large"},
      {Request(fp32 + R"("shape": [1], "data": [null])"), "inputs[0]: data has null; expected"},
      {Request(fp32 + R"("shape": [1], "data": [{}])"), "data has an object"},
      {Request(fp32 + R"("shape": [1], "data": 1)"), "data is a number"},
      {Request(fp32 + R"("shape": [1], "data": [1], "data": [1])"), "has data twice"},
      {Request(fp32 + R"("shape": [1], "shape": [1], "data": [1])"), "has shape twice"},
      {Request(fp32 + R"("shape": [2], "data": [1])"), "data has 1 values, but shape (2,) has 2"},
      {Request(fp32 + R"("shape": [-1], "data": [1])"), "not a whole one >= 0"},
      {Request(fp32 + R"("shape": [1.0], "data": [1])"), "not a whole one >= 0"},
      {Request(fp32 + R"("shape": [9223372036854775808], "data": [1])"), "not a whole one >= 0"},
      {Request(fp32 + R"("shape": [4294967296, 4294967296], "data": [1])"), "63 bits"},
      {Request(fp32 + R"("shape": [1,1,1,1,1,1,1], "data": [1])"), "more than 6 dimensions"},
      {Request(fp32 + R"("shape": [2, 2], "data": [[1, 2, 3], [4]])"), "different lengths"},
      {Request(fp32 + R"("shape": [2, 2], "data": [[1], [2], [3], [4]])"), "the nesting of data"},
      {Request(fp32 + R"("shape": [2, 2], "data": [[1, 2], 3, 4])"), "the nesting of data"},
      {Request(fp32 + R"("data": [1])"), "has no shape"},
      {Request(fp32 + R"("shape": [1])"), "has no data"},
      {Request(fp32 + R"("shape": [1], "data": [1], "parameters": {"binary_data_size": 4})"),
       "expected one of them"},
      {Request(fp32 + R"("shape": [1], "parameters": {"binary_data_size": -4})"), "whole number"},
      {Request(fp32 + R"("shape": [2], "parameters": {"binary_data_size": 4})"), "2 elements of 4"},
      {Request(fp32 + R"("shape": [4611686018427387904], "parameters": {"binary_data_size": 0})"),
       "elements of 4"},
      {Request(StrCat(fp32, R"("shape": [1], "data": )", std::string(40, '['))), "deeper than 32"},
      {StrCat("{\"a\": ", std::string(100'000, '[')), "deeper than 32"},
      {Request(StrCat(R"("datatype": ")", std::string(2000, 'x'), "\"")), "more than 1024"},
  };
  for (const auto& [json, said] : kWrong) {
    const absl::Status status = Parse(json).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << json.substr(0, 200);
    EXPECT_THAT(std::string(status.message()), HasSubstr(said)) << json.substr(0, 200);
  }
}

TEST(InferRequestTest, TextsAndNestingReachTheirLimits) {
  const auto error = [](const std::string& json) {
    return std::string(Parse(json).status().message());
  };
  const auto id = [](size_t size) {
    return StrCat(
        R"({"id": ")", std::string(size, 'i'),
        R"(", "inputs": [{"name": "a", "datatype": "FP32", "shape": [1], "data": [1]}]})");
  };
  EXPECT_EQ(error(id(1024)), "");
  EXPECT_THAT(error(id(1025)), HasSubstr("id has more than 1024 characters"));
  // The request itself is one level.
  const auto nested = [](size_t levels) {
    return StrCat("{\"a\": ", std::string(levels, '['), std::string(levels, ']'),
                  R"(, "inputs": [{"name": "a", "datatype": "FP32", "shape": [1], "data": [1]}]})");
  };
  EXPECT_EQ(error(nested(31)), "");
  EXPECT_THAT(error(nested(32)), HasSubstr("nested deeper than 32 levels"));
}

TEST(InferRequestTest, ValuesAndTensorsHaveLimits) {
  const std::string three = Request(R"("datatype": "FP32", "shape": [3], "data": [1, 2, 3])");
  EXPECT_TRUE(Parse(three, {.values = 3}).ok());
  EXPECT_THAT(std::string(Parse(three, {.values = 2}).status().message()),
              HasSubstr("more than 2 values"));
  EXPECT_THAT(std::string(Parse(R"({"inputs": [{}, {}, {}]})", {.tensors = 2}).status().message()),
              HasSubstr("more than 2 inputs"));
  EXPECT_THAT(std::string(Parse(R"({"outputs": [{}, {}, {}]})", {.tensors = 2}).status().message()),
              HasSubstr("more than 2 outputs"));
}

}  // namespace
}  // namespace dtnn
