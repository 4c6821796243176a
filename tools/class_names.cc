#include "tools/class_names.h"

#include <algorithm>
#include <cctype>

namespace dtnn::layering {
namespace {

struct Token {
  std::string_view text;
  int line;
};
using Tokens = std::vector<Token>;

bool IsWord(char c) { return std::isalnum(uint8_t(c)) != 0 || c == '_'; }

// Words and single characters; comments, literals and lines of the preprocessor are left out.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  Tokens Run() {
    Tokens tokens;
    bool line_begins = true;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        line_begins = true;
        Skip(1);
      } else if (std::isspace(uint8_t(c)) != 0) {
        Skip(1);
      } else if (c == '#' && line_begins) {
        SkipDirective();
      } else if (Begins("//")) {
        SkipPast("\n", /*keep_end=*/true);
      } else if (Begins("/*")) {
        SkipPast("*/");
      } else if (Begins("R\"")) {
        const size_t open = text_.find('(', at_);
        SkipPast(")" + std::string(text_.substr(at_ + 2, open - at_ - 2)) + "\"");
      } else if (c == '"' || c == '\'') {
        SkipLiteral(c);
      } else {
        line_begins = false;
        size_t size = 1;
        // The quotes in 1'000 are part of the number.
        const bool number = std::isdigit(uint8_t(c)) != 0;
        while (IsWord(c) && at_ + size < text_.size() &&
               (IsWord(text_[at_ + size]) || (number && text_[at_ + size] == '\''))) {
          ++size;
        }
        tokens.push_back({text_.substr(at_, size), line_});
        at_ += size;
      }
    }
    return tokens;
  }

 private:
  bool Begins(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  void Skip(size_t count) {
    count = std::min(count, text_.size() - at_);
    line_ += int(std::ranges::count(text_.substr(at_, count), '\n'));
    at_ += count;
  }
  void SkipPast(std::string_view end, bool keep_end = false) {
    const size_t found = text_.find(end, at_ + 2);
    Skip(found == text_.npos ? text_.npos : found + (keep_end ? 0 : end.size()) - at_);
  }
  void SkipLiteral(char quote) {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
    Skip(end + 1 - at_);
  }
  void SkipDirective() {
    size_t end = text_.find('\n', at_);
    while (end != text_.npos && text_[end - 1] == '\\') end = text_.find('\n', end + 1);
    Skip(end == text_.npos ? end : end - at_);
  }

  const std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
};

// The index after the bracket that closes the one at `open`.
size_t Closed(const Tokens& tokens, size_t open, char opening, char closing) {
  int depth = 0;
  for (size_t i = open; i < tokens.size(); ++i) {
    depth += tokens[i].text[0] == opening;
    depth -= tokens[i].text[0] == closing;
    if (depth == 0) return i + 1;
  }
  return tokens.size();
}

// What the tokens before an opening brace say of it: "namespace a::b", a class's name, or neither.
struct Opening {
  enum Kind : uint8_t { kNamespace, kClass, kOther } kind = kOther;
  std::string name;
};

Opening ReadOpening(const Tokens& tokens) {
  const auto text = [&](size_t i) {
    return i < tokens.size() ? tokens[i].text : std::string_view();
  };
  for (size_t i = 0; i < tokens.size();) {
    if (text(i) == "template" && text(i + 1) == "<") {
      i = Closed(tokens, i + 1, '<', '>');
      continue;
    }
    const bool space = text(i) == "namespace";
    if (!space && text(i) != "class" && text(i) != "struct" && text(i) != "union" &&
        text(i) != "enum") {
      if (text(i) == "(" || text(i) == "=") return {};  // a function, or a value
      ++i;
      continue;
    }
    ++i;
    if (text(i) == "class" || text(i) == "struct") ++i;  // enum class
    while (text(i) == "alignas" || text(i) == "[") {
      i = text(i) == "[" ? Closed(tokens, i, '[', ']') : Closed(tokens, i + 1, '(', ')');
    }
    Opening opening = {space ? Opening::kNamespace : Opening::kClass, {}};
    for (; i < tokens.size(); ++i) {
      const bool scope = text(i) == ":" && text(i + 1) == ":";
      if (text(i) == "final" || (text(i) == ":" && !scope)) return opening;
      if (text(i) == "<") {
        const size_t end = Closed(tokens, i, '<', '>');
        for (; i + 1 < end; ++i) opening.name += text(i);
      } else if (!scope &&
                 (!IsWord(text(i)[0]) || (!opening.name.empty() && IsWord(opening.name.back())))) {
        return {};  // two words, or a bracket: a function that returns one
      }
      opening.name += text(i);
      if (scope) opening.name += text(++i);
    }
    return opening;
  }
  return {};
}

}  // namespace

std::vector<ClassName> ClassesIn(std::string_view text) {
  std::vector<ClassName> found;
  // The names of the open braces; empty where nothing below is visible to other files.
  std::vector<std::string> scopes = {"::"};
  Tokens statement;
  for (const Token& token : Scanner(text).Run()) {
    if (token.text == "{") {
      const Opening opening = ReadOpening(statement);
      std::string scope;
      if (!scopes.back().empty() && opening.kind != Opening::kOther && !opening.name.empty()) {
        const std::string name = scopes.back() + opening.name;
        if (opening.kind == Opening::kClass) found.push_back({name.substr(2), token.line});
        scope = name + "::";
      }
      scopes.push_back(std::move(scope));
      statement.clear();
    } else if (token.text == "}") {
      if (scopes.size() > 1) scopes.pop_back();
      statement.clear();
    } else if (token.text == ";") {
      statement.clear();
    } else {
      statement.push_back(token);
    }
  }
  return found;
}

}  // namespace dtnn::layering
