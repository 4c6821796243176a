#include "tensor/threads/processor_name.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(ProcessorNameTest, IsOneLineOfWords) {
  const std::string name = ProcessorName();
  EXPECT_FALSE(name.empty());
  EXPECT_EQ(name.find('\n'), name.npos);
  EXPECT_EQ(name, ProcessorName());
}

TEST(ProcessorNameTest, TheModelIsOneWord) {
  const std::string model = ProcessorModel();
  EXPECT_FALSE(model.empty());
  for (const char c : model) {
    EXPECT_TRUE(std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_')
        << model;
  }
#if defined(__x86_64__)
  EXPECT_EQ(std::ranges::count(model, '-'), 2) << model;
#endif
}

}  // namespace
}  // namespace dtnn
