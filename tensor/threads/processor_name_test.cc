#include "tensor/threads/processor_name.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(ProcessorNameTest, IsOneLineOfWords) {
  const std::string name = ProcessorName();
  EXPECT_FALSE(name.empty());
  EXPECT_EQ(name.find('\n'), name.npos);
  EXPECT_EQ(name, ProcessorName());
}

}  // namespace
}  // namespace dtnn
