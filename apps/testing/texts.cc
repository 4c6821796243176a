#include "apps/testing/texts.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "gtest/gtest.h"

namespace dtnn::testing {

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<double> Numbers(const std::string& text) {
  std::vector<double> numbers;
  const char* at = text.c_str();
  while (*at != '\0') {
    char* end = nullptr;
    const double value = std::strtod(at, &end);
    if (end != at) numbers.push_back(value);
    at = end == at ? at + 1 : end;
  }
  return numbers;
}

int Count(const std::string& in, const std::string& text) {
  int count = 0;
  for (size_t at = 0; (at = in.find(text, at)) != std::string::npos; at += text.size()) ++count;
  return count;
}

}  // namespace dtnn::testing
