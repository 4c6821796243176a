#include "tools/words.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

namespace dtnn::words {
namespace {

namespace fs = std::filesystem;

struct Pattern {
  const char* name;
  const char* needle;  // part of each match, with spaces for line feeds; a search for it is quick
  std::regex match;    // a space stands for the end of a line, too
  std::regex except;   // of what has matched
  const char* better;
};

// Each line of a passage begins after a line feed.
std::regex Regex(std::string text) {
  for (size_t at = text.find(' '); at != text.npos; at = text.find(' ', at + 4)) {
    text.replace(at, 1, "[ \n]");
  }
  return std::regex(text, std::regex::ECMAScript | std::regex::optimize);
}

const std::vector<Pattern>& Patterns() {
  static const auto* const kPatterns = new std::vector<Pattern>{
      {"of", "Of ", Regex("(^|[.:;]\n)Of \\S"), Regex("$^"),
       "a sentence, or a noun phrase with its noun first"},
      {"who", "ho ",
       Regex(
           "(^|\n|[.:;] )Who [^.?]*[.?]?|(^|[:;] |\\b(to|of|from|for|by|with|only|so|than) )who "),
       Regex("\\?$"), "a noun: \"a caller that ...\", \"users who ...\""},
      {"whoever", "hoever", Regex("[Ww]hoever\\b"), Regex("$^"),
       "a noun: \"the thread that ...\", \"anyone who ...\""},
      {"is-no", " no ", Regex("(\\w+ )?\\b(is|are|was|were) no \\w+"),
       Regex(
           "^[Tt]here |no "
           "(longer|more|less|fewer|other|later|earlier|better|worse|larger|smaller|slower|faster|"
           "further|need|way|different)$"),
       "\"is not a ...\""},
      {"told", "told", Regex("\\b(is|are|was|were|be|been|being) told\\b( \\w+)?"),
       Regex("told apart$"), "\"is reported\", \"is passed\", \"is said\""},
      {"goes-on", " on", Regex("\\b(go|goes|going|went|gone) on\\b"), Regex("$^"), "\"continues\""},
      {"into-the-cache", "the cache", Regex("\\b[Cc]all(s|ed|ing)? (\\w+ )*into the cache"),
       Regex("$^"), "\"prefetches ...\""},
      {"numbered-cache", " cache", Regex("\\b(first|second|third) cache\\b"), Regex("$^"),
       "L1, L2 or L3"},
      {"behind-the-step", "behind the", Regex("\\bbehind the (layer|step|epoch|round)\\b"),
       Regex("$^"), "\"after the ...\""},
      {"renew", "renew", Regex("\\b[Rr]enew(s|ed|ing)?\\b"), Regex("$^"), "\"is updated\""},
      {"stranger", "tranger", Regex("\\b[Ss]trangers?\\b"), Regex("$^"),
       "peer, caller, or another process"},
      {"farewell", "arewell", Regex("\\b[Ff]arewells?\\b"), Regex("$^"), "the last message"},
      {"hushed", "ushed", Regex("\\b[Hh]ushed\\b"), Regex("$^"), "quiet"},
  };
  return *kPatterns;
}

// Consecutive lines of prose.
struct Passage {
  int line;  // of its first line
  std::string text;
};

std::string_view TrimLeft(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text;
}

// A line of C++ in its parts.
struct Parts {
  std::vector<std::string_view> literals;
  std::string_view comment;
  bool has_comment = false, only_comment = false;
  bool begins_with_literal = false, ends_with_literal = false;
};

Parts Divide(std::string_view line) {
  Parts parts;
  const std::string_view trimmed = TrimLeft(line);
  parts.only_comment = trimmed.starts_with("//");
  parts.begins_with_literal = trimmed.starts_with('"');
  parts.ends_with_literal = line.ends_with('"');
  for (size_t i = 0; i < line.size(); ++i) {
    if (line.substr(i).starts_with("//")) {
      parts.has_comment = true;
      parts.comment = TrimLeft(line.substr(i + 2));
      break;
    }
    if (line.substr(i).starts_with("'\"'")) i += 3;
    if (i >= line.size() || line[i] != '"') continue;
    const size_t begin = ++i;
    while (i < line.size() && line[i] != '"') i += line[i] == '\\' ? 2 : 1;
    parts.literals.push_back(line.substr(begin, i - begin));
  }
  return parts;
}

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// A line of a passage ends with a line feed. Literals that the compiler joins are one text, with
// the line feed that the source has between them.
std::vector<Passage> SourcePassages(std::string_view text) {
  std::vector<Passage> comments, literals;
  bool in_comment = false, in_literal = false;
  int number = 0;
  for (const std::string_view line : Lines(text)) {
    ++number;
    if (TrimLeft(line).starts_with('#')) continue;
    const Parts parts = Divide(line);
    if (parts.has_comment) {
      if (!in_comment || !parts.only_comment) comments.push_back({number, ""});
      comments.back().text += std::string(parts.comment) + "\n";
    }
    in_comment = parts.has_comment;
    for (size_t i = 0; i < parts.literals.size(); ++i) {
      if (i > 0 || !in_literal || !parts.begins_with_literal) literals.push_back({number, ""});
      std::string& joined = literals.back().text;
      // "is " and "no": the space goes, so that the line feed is the only one.
      if (joined.ends_with(" \n")) joined.erase(joined.size() - 2, 1);
      joined += std::string(parts.literals[i]) + "\n";
    }
    in_literal = parts.ends_with_literal && !parts.literals.empty();
  }
  std::ranges::move(literals, std::back_inserter(comments));
  return comments;
}

std::vector<Passage> MarkdownPassages(std::string_view text) {
  std::vector<Passage> passages;
  bool inside = false;
  int number = 0;
  for (std::string_view line : Lines(text)) {
    ++number;
    line = TrimLeft(line);
    if (!inside && !line.empty()) passages.push_back({number, ""});
    inside = !line.empty();
    if (!inside) continue;
    if (line.starts_with("- ") || line.starts_with("| ") || line.starts_with("> ")) {
      line.remove_prefix(2);
    }
    passages.back().text += std::string(line) + "\n";
  }
  return passages;
}

bool IsMarkdown(std::string_view path) { return path.ends_with(".md"); }

bool IsSource(std::string_view path) {
  return path.ends_with(".h") || path.ends_with(".cc") || path.ends_with(".cu") ||
         path.ends_with(".cuh");
}

// The end of a sentence and the space after it.
constexpr char kBetween[] = ".:;( \n";

std::string OneLine(std::string text) {
  text.erase(0, text.find_first_not_of(kBetween));
  std::ranges::replace(text, '\n', ' ');
  return text.size() > 60 ? text.substr(0, 60) + "..." : text;
}

}  // namespace

std::vector<Finding> Check(std::string_view path, std::string_view text) {
  std::vector<Finding> findings;
  for (const Passage& passage : IsMarkdown(path) ? MarkdownPassages(text) : SourcePassages(text)) {
    std::string flat = passage.text;
    std::ranges::replace(flat, '\n', ' ');
    for (const Pattern& pattern : Patterns()) {
      if (flat.find(pattern.needle) == flat.npos) continue;
      auto begin = passage.text.begin();
      auto flags = std::regex_constants::match_default;
      for (std::smatch match;
           std::regex_search(begin, passage.text.end(), match, pattern.match, flags);
           begin = match[0].second, flags = std::regex_constants::match_prev_avail) {
        const std::string found = match.str();
        if (std::regex_search(found, pattern.except)) continue;
        // What ends the sentence before belongs to the line above.
        const auto first =
            match[0].first + std::min(found.find_first_not_of(kBetween), found.size());
        const int line = passage.line + int(std::count(passage.text.begin(), first, '\n'));
        findings.push_back({line, pattern.name,
                            std::string(path) + ":" + std::to_string(line) + ": \"" +
                                OneLine(found) + "\": write " + pattern.better + " (" +
                                pattern.name + ")"});
      }
    }
  }
  std::ranges::stable_sort(findings, {}, &Finding::line);
  return findings;
}

Ceilings ReadCeilings(std::string_view text, std::vector<std::string>& errors) {
  Ceilings ceilings;
  for (const std::string_view line : Lines(text)) {
    if (line.empty() || line.starts_with('#')) continue;
    std::istringstream in{std::string(line)};
    std::string file, pattern;
    int count = 0;
    if (!(in >> file >> pattern >> count) || count < 1 ||
        !std::ranges::any_of(Patterns(), [&](const Pattern& p) { return pattern == p.name; }) ||
        !ceilings.try_emplace({file, pattern}, count).second) {
      errors.push_back("\"" + std::string(line) +
                       "\": expected a file, the name of a pattern and a count, once each");
    }
  }
  return ceilings;
}

std::vector<std::string> CheckTexts(const std::map<std::string, std::string>& texts,
                                    const Ceilings& ceilings) {
  std::vector<std::string> messages;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> found;
  for (const auto& [path, text] : texts) {
    for (const Finding& finding : Check(path, text)) {
      found[{path, finding.pattern}].push_back(finding.text);
    }
  }
  for (const auto& [key, lines] : found) {
    const auto ceiling = ceilings.find(key);
    const int allowed = ceiling == ceilings.end() ? 0 : ceiling->second;
    if (int(lines.size()) <= allowed) continue;
    for (const std::string& line : lines) {
      messages.push_back(line + (allowed == 0
                                     ? ""
                                     : "; one of " + std::to_string(lines.size()) + ", of which " +
                                           std::to_string(allowed) + " were there before"));
    }
  }
  for (const auto& [key, allowed] : ceilings) {
    const auto lines = found.find(key);
    const int count = lines == found.end() ? 0 : int(lines->second.size());
    if (count >= allowed) continue;
    const std::string line = key.first + " " + key.second + " " + std::to_string(allowed);
    messages.push_back("tools/words_left.txt: \"" + line + "\": " +
                       (count == 0 ? std::string("remove this line: none is left")
                                   : "lower the number to " + std::to_string(count)));
  }
  return messages;
}

std::map<std::string, std::string> ReadTexts(const fs::path& root) {
  std::map<std::string, std::string> texts;
  const auto read = [&](const fs::directory_entry& entry) {
    if (!entry.is_regular_file()) return;
    const std::string path = entry.path().lexically_relative(root).generic_string();
    if (!(IsMarkdown(path) || IsSource(path)) || path.starts_with("tools/words")) return;
    std::ifstream in(entry.path(), std::ios::binary);
    texts[path] = std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  };
  for (const auto& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.') || name == "third_party" || name == "shared" ||
        (entry.is_symlink() && entry.is_directory())) {
      continue;
    }
    read(entry);
    if (!entry.is_directory()) continue;
    for (const auto& below : fs::recursive_directory_iterator(entry.path())) read(below);
  }
  return texts;
}

}  // namespace dtnn::words
