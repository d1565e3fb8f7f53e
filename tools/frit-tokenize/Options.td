//===- Options.td - frit-tokenize's command line -------------------------===//

include "compiler/support/OptionClasses.td"

def Lines : Use;
def Streams : Use;
def Texts : Use;

def all_Group : Section<"Options">;

def decode : Flag<dashes, "decode">, Group<all_Group>,
  HelpText<"Read lines of ids and print their text">, For<Lines>;
def stream : Flag<dashes, "stream">, Group<all_Group>, HelpText<
  "With --decode, decode token by token as for a user who waits">, For<Streams>;
def no_special : Flag<dashes, "no-special">, Group<all_Group>, HelpText<
  "Add no tokens at both ends; with --decode, hide no tokens">, For<Texts>;
def json : Flag<dashes, "json">, Group<all_Group>, HelpText<
  "Lines of text are JSON strings, which may have line breaks">, For<Texts>;
def chat : Flag<dashes, "chat">, Group<all_Group>, HelpText<
  "Lines are JSON lists of messages, {\"role\", \"content\"}, written with the "
  "model's template">, For<Lines>;
def info : Flag<dashes, "info">, Group<all_Group>, HelpText<
  "Print the number of tokens, those that begin and end a text, and the "
  "template of conversations">;
defm "" : HelpOptions<dashes, all_Group>;
