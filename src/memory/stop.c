/* SPDX-License-Identifier: MIT */
/* Lists of words, in the folded form of terms.h: no accents, no apostrophes. */
#include "memory/stop.h"

/* Each list begins and ends with a blank. */
static const char STOP_WORDS[] =
	" a an the this that these those there here it its he she they we you i me my mine your yours his her hers him them "
	"their theirs our ours us myself yourself himself herself themselves and or but nor so if then else than as of at by "
	"for from in into on onto to with without about over under up down out off between during through per via is am are was "
	"were be been being do does did doing done have has had having can could will would shall should may might must not no "
	"yes what which who whom whose when where why how im ive id ill dont doesnt didnt isnt arent wasnt werent cant couldnt "
	"wont wouldnt shouldnt hasnt havent hadnt youre youve hes shes theyre theyve weve whats wheres whos thats theres lets "
	"s t re ve ll d m also too very just please hi hello hey okay ok well oh user users any some all both each every "
	"such own same other another again further once only more most much many few lot lots "
	/* de */
	"der das den dem des ein eine einen einem einer eines und oder aber nicht kein keine keinen ich mich mir du dich "
	"dir er sie es wir uns ihr euch ihnen mein meine meinen meinem meiner dein deine deinen sein seine seinen unser unsere "
	"ist bin bist sind seid waren habe hast haben hatte wird werde werden wurde kann kannst konnen soll will wie was "
	"wer wen wem wo wohin woher wann warum welche welcher welches welchen zu zum zur im in am an auf aus bei mit nach von vom "
	"vor fur durch uber unter um als auch nur noch schon sehr so da dann denn dass wenn ob bitte nutzer benutzer gern gerne "
	/* fr */
	"le la les un une des du de au aux et ou mais je tu il elle on nous vous ils elles mon ma mes ta tes sa ses "
	"notre votre leur leurs ce cet cette ces que qui quoi quel quelle quels quelles ou quand pourquoi est suis es "
	"sont sommes etes etait ai as avons avez ont avait ne pas plus dans sur sous avec sans par en y se me te lui jai "
	"jhabite cest quest utilisateur "
	/* es, pt, it */
	"el los las una unos unas y o pero yo tu usted nosotros ellos ellas mi mis su sus nuestro es soy eres somos era "
	"fue estoy esta estan he ha han hay no si que quien cual cuales cuando donde como por para con del al lo se te "
	"me le les nos muy mas ya usuario o os uma um e eu voce ele ela eles meu minha seu sua do da dos das em no na nos nas "
	"com sem qual quando onde que nao sao foi tem tenho gli lo di che cosa perche sono sei siamo mio mia tuo tua ";

/* They tell subjects apart only a little. */
static const char WEAK_WORDS[] =
	" like likes liked love loves want wants wanted need needs get gets got go goes going went make makes made take takes "
	"took know knows think thinks say says said tell told see look find use uses used give gave come came try thing things "
	"something anything everything someone people way time times day days year years new good great nice best right really "
	"now today still always never often usually currently recently since after before kind type sort name called number "
	"favorite favourite prefer prefers preferred remember remind help show work happen happened plan plans planning long ago "
	"mag mogen magst liebe mochte mochtest brauche machen macht gehen weiss immer nie jetzt heute aime aimer veux faire "
	"gusta quiero hacer son war die hat bin comment pour ton sin chi dove ";

static bool has(struct slice list, struct slice word)
{
	const char *end = list.data + list.len;

	for (const char *at = list.data; (at = memchr(at, word.data[0], (size_t)(end - at))); at++)
		if (at[-1] == ' ' && strncmp(at, word.data, word.len) == 0 && at[word.len] == ' ')
			return true;
	return false;
}

float stop_weight(struct slice word)
{
	const struct slice stop = {STOP_WORDS, sizeof STOP_WORDS - 1}, weak = {WEAK_WORDS, sizeof WEAK_WORDS - 1};

	if (word.len == 0 || has(stop, word))
		return 0;
	return has(weak, word) ? 0.4f : 1;
}

/* Longer ones before what they begin with. */
static const char *const WIDE_STOPS[] = {"用户的", "用户", "什么", "甚么", "怎么样", "怎么", "为什么", "哪里", "哪儿", "哪个",
	"哪些", "哪", "我们", "你们", "他们", "她们", "我的", "你的", "他的", "她的", "我", "你", "您", "他", "她", "它", "的", "了",
	"是", "在", "吗", "呢", "吧", "啊", "和", "与", "及", "或", "就", "都", "也", "很", "把", "被", "这个", "那个", "这", "那",
	"请问", "请", "多少", "几", "一个", "谁", "有没有", "是不是", "ユーザー", "ですか", "でした", "です", "ますか", "ました", "ます",
	"ません", "どこ", "なに", "何", "誰", "だれ", "いつ", "どの", "どれ", "どう", "この", "その", "あの", "わたし", "わたくし", "私",
	"僕", "俺", "あなた", "から", "まで", "より", "では", "には", "とは", "は", "が", "を", "に", "の", "へ", "と", "で", "も", "や", "か",
	"ね", "よ", "저는", "나는", "제가", "내가", "나의", "저의", "무엇", "어디", "언제", "누구", "입니까", "입니다", "은", "는", "이",
	"가", "을", "를", "의", "에서", "에", "도", "로", NULL};

size_t stop_wide(struct slice run)
{
	for (const char *const *stop = WIDE_STOPS; *stop; stop++)
		if (slice_starts_with(run, *stop))
			return strlen(*stop);
	return 0;
}
