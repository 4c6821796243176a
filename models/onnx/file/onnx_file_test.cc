#include "models/onnx/file/onnx_file.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/onnx/file/external_data.h"
#include "models/onnx/file/message_parts.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

onnx::ModelProto Model() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  onnx::NodeProto& node = *model.mutable_graph()->add_node();
  node.set_op_type("Relu");
  node.add_attribute()->mutable_t()->add_float_data(1);
  model.mutable_graph()->add_input()->mutable_type()->mutable_tensor_type()->set_elem_type(1);
  return model;
}

TEST(OnnxFileTest, WhatIsWrittenIsRead) {
  const std::string path = testing::NewFolder("onnx_file") + "/net.onnx";
  ASSERT_TRUE(WriteOnnx(path, Model()).ok());
  EXPECT_TRUE(CheckOnnxOutput(path).ok());
  const auto read = ReadOnnx(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->SerializeAsString(), Model().SerializeAsString());
}

TEST(OnnxFileTest, LargeTensorsOfLargeModelsStandInAFileOfTheirOwn) {
  const std::string path = testing::NewFolder("onnx_file") + "/net.onnx";
  onnx::ModelProto model = Model();
  const std::string values[] = {std::string(4096, 'a'), std::string(4, 'b'),
                                std::string(2048, 'c')};
  for (const std::string& bytes : values) {
    onnx::TensorProto& tensor = *model.mutable_graph()->add_initializer();
    tensor.set_data_type(1);
    tensor.add_dims(int64_t(bytes.size()) / 4);
    tensor.set_raw_data(bytes);
  }
  const auto size = int64_t(model.ByteSizeLong());
  ASSERT_TRUE(WriteOnnx(path, model, size).ok());
  EXPECT_FALSE(std::filesystem::exists(path + ".data"));
  EXPECT_EQ(ReadOnnx(path)->SerializeAsString(), model.SerializeAsString());

  ASSERT_TRUE(WriteOnnx(path, model, size - 1).ok());
  EXPECT_EQ(std::filesystem::file_size(path + ".data"), 4096U + 2048U);
  EXPECT_LT(std::filesystem::file_size(path), 1024U);
  const auto read = ReadOnnx(path);
  ASSERT_TRUE(read.ok()) << read.status();
  ExternalData data(path);
  for (int i = 0; i < 3; ++i) {
    const onnx::TensorProto& tensor = read->graph().initializer(i);
    const std::string& expected = values[i];
    EXPECT_EQ(tensor.data_location(), i == 1 ? 0 : 1);
    if (i == 1) {
      EXPECT_EQ(tensor.raw_data(), expected);
    } else {
      const auto bytes = data.Read(tensor, int64_t(expected.size()));
      ASSERT_TRUE(bytes.ok()) << bytes.status();
      EXPECT_EQ(*bytes, expected);
    }
  }
}

TEST(OnnxFileTest, OtherFilesAreNamed) {
  const std::string folder = testing::NewFolder("onnx_file"), path = folder + "/net.onnx";
  for (const std::string& bytes : {std::string(), std::string("\x08\x08"), std::string("a text")}) {
    std::ofstream(path) << bytes;
    EXPECT_THAT(std::string(ReadOnnx(path).status().message()),
                HasSubstr("net.onnx: is not an ONNX model, or is damaged; is the file complete?"));
  }
  EXPECT_FALSE(CheckOnnxOutput(path).ok());
  EXPECT_FALSE(CheckOnnxOutput(folder + "/net.pb").ok());
  EXPECT_EQ(ReadOnnx(folder + "/none.onnx").status().code(), absl::StatusCode::kNotFound);
}

TEST(OnnxFileTest, PartsAreCountedBeforeMemoryIsAllocated) {
  // ir_version; graph; node, op_type, attribute, t, float_data; input, type, tensor_type,
  // elem_type.
  EXPECT_EQ(CountMessageParts(Model().SerializeAsString(), 1000), 11);
  std::string nodes;  // empty ones: two bytes each
  for (int i = 0; i < 5'000'000; ++i) nodes.append("\x0a\x00", 2);
  std::string graph = "\x3a\x80\xad\xe2\x04" + nodes;  // 10000000 bytes
  EXPECT_EQ(CountMessageParts(graph, 100), 101);
  EXPECT_EQ(CountMessageParts(graph, 10'000'000), 5'000'001);
  EXPECT_THAT(std::string(ParseOnnx(graph, "many.onnx").status().message()),
              HasSubstr("many.onnx: has more than 4194304 parts"));
  std::string versions;  // the same field again and again
  for (int i = 0; i < 4194304; ++i) versions += "\x08\x08";
  EXPECT_THAT(std::string(ParseOnnx(versions, "most.onnx").status().message()),
              HasSubstr("most.onnx: is not an ONNX model"));
  EXPECT_THAT(std::string(ParseOnnx(versions + "\x08\x08", "more.onnx").status().message()),
              HasSubstr("more.onnx: has more than 4194304 parts"));
}

}  // namespace
}  // namespace dtnn
